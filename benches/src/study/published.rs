//! Figures of the published study, for comparison.
//!
//! Shin Hong, "Effective and Efficient Test Generation for Multithreaded Programs Using Concurrency Coverage
//! Metrics", PhD thesis, KAIST, 2015: nine Java programs with one fault each, 1,000 executions with random noise for
//! each of 13 settings, 90,000 random suites and 100 greedy ones. Rows of one program are missing in some columns.

/// The figures of one criterion, by program.
pub(super) struct Published {
    pub(super) name: &'static str,
    /// Correlation of coverage and failure detection: Tables 3.4 and 3.7.
    pub(super) correlations: &'static [f64],
    /// Failure detection of suites with all coverage, and of random suites of the same sizes: Tables 3.6 and 3.8.
    pub(super) greedy: &'static [(f64, f64)],
}

/// Correlation of size and failure detection: Table 3.4.
pub(super) const SIZE_DETECTION: [f64; 9] = [0.22, 0.05, 0.30, 0.17, 0.38, 0.12, 0.13, 0.10, 0.11];

/// Returns the figures of the criterion, if it was studied.
pub(super) fn named(name: &str) -> Option<&'static Published> {
    PUBLISHED.iter().find(|published| published.name == name)
}

const PUBLISHED: [Published; 14] = [
    Published {
        name: "blocked",
        correlations: &[0.39, 0.77, 0.16, 0.46, 0.00, 0.14, 0.58, 0.88, 0.12],
        greedy: &[
            (0.19, 0.06),
            (0.92, 0.34),
            (0.00, 0.07),
            (0.67, 0.64),
            (0.00, 0.02),
            (0.21, 0.23),
            (0.78, 0.53),
            (0.92, 0.16),
            (0.24, 0.26),
        ],
    },
    Published {
        name: "blocking",
        correlations: &[0.35, 0.27, 0.19, 0.45, 0.48, 0.14, 0.59, 0.88, 0.12],
        greedy: &[
            (0.09, 0.05),
            (0.29, 0.20),
            (0.00, 0.08),
            (0.63, 0.51),
            (0.25, 0.02),
            (0.52, 0.29),
            (0.97, 0.62),
            (0.92, 0.10),
            (0.26, 0.33),
        ],
    },
    Published {
        name: "blocked-pair",
        correlations: &[0.39, 0.52, 0.73, 0.50, 0.62, 0.17, 0.67, 0.94, 0.12],
        greedy: &[
            (0.14, 0.04),
            (0.92, 0.32),
            (0.00, 0.10),
            (0.63, 0.59),
            (0.39, 0.03),
            (0.63, 0.50),
            (1.00, 0.87),
            (0.92, 0.10),
            (0.21, 0.35),
        ],
    },
    Published {
        name: "follows",
        correlations: &[0.28, 0.66, 0.17, 0.52, 0.59, 0.21, 0.44, 0.88],
        greedy: &[
            (0.24, 0.06),
            (0.52, 0.26),
            (0.03, 0.08),
            (0.26, 0.45),
            (0.70, 0.09),
            (0.50, 0.50),
            (1.00, 0.83),
            (0.92, 0.07),
            (0.34, 0.35),
        ],
    },
    Published {
        name: "sync-pair",
        correlations: &[0.28, 0.19, 0.09, 0.52, 0.62, 0.11, 0.66, 0.96],
        greedy: &[
            (0.21, 0.00),
            (0.53, 0.26),
            (0.06, 0.06),
            (0.41, 0.46),
            (0.64, 0.03),
            (0.50, 0.38),
            (1.00, 0.74),
            (0.92, 0.07),
            (0.31, 0.30),
        ],
    },
    Published {
        name: "lr-def",
        correlations: &[0.30, 0.59, 0.91, 0.30, 0.66, 0.46, 0.74, 0.95],
        greedy: &[
            (0.23, 0.03),
            (0.20, 0.27),
            (0.03, 0.07),
            (0.30, 0.38),
            (0.01, 0.03),
            (1.00, 0.31),
            (0.40, 0.30),
            (0.03, 0.03),
            (0.28, 0.33),
        ],
    },
    Published {
        name: "def-use",
        correlations: &[0.60, 0.56, 0.96, 0.45, 0.07, 0.57, 0.43, 0.92, 0.53],
        greedy: &[
            (0.13, 0.30),
            (0.92, 0.30),
            (1.00, 0.04),
            (0.35, 0.43),
            (0.00, 0.02),
            (1.00, 0.36),
            (0.33, 0.56),
            (0.92, 0.13),
            (0.34, 0.46),
        ],
    },
    Published {
        name: "pset",
        correlations: &[0.57, 0.59, 0.83, 0.48, 0.67, 0.30, 0.87, 0.96],
        greedy: &[
            (0.36, 0.44),
            (0.92, 0.40),
            (1.00, 0.11),
            (0.33, 0.40),
            (0.43, 0.06),
            (1.00, 0.40),
            (1.00, 0.76),
            (0.92, 0.06),
            (0.46, 0.60),
        ],
    },
    Published {
        name: "blocked-pair+def-use",
        correlations: &[0.61, 0.60, 0.38, 0.56, 0.59, 0.31, 0.46, 0.92, 0.53],
        greedy: &[
            (0.15, 0.40),
            (0.92, 0.30),
            (1.00, 0.18),
            (0.65, 0.60),
            (0.40, 0.01),
            (1.00, 0.60),
            (1.00, 0.87),
            (0.92, 0.13),
            (0.34, 0.43),
        ],
    },
    Published {
        name: "blocked-pair+pset",
        correlations: &[0.59, 0.65, 0.21, 0.55, 0.48, 0.15, 0.61, 0.88, 0.58],
        greedy: &[
            (0.36, 0.46),
            (0.92, 0.45),
            (1.00, 0.23),
            (0.69, 0.58),
            (0.70, 0.02),
            (1.00, 0.69),
            (1.00, 0.89),
            (0.92, 0.16),
            (0.54, 0.56),
        ],
    },
    Published {
        name: "follows+def-use",
        correlations: &[0.60, 0.52, 0.73, 0.51, 0.62, 0.17, 0.67, 0.94, 0.53],
        greedy: &[
            (0.17, 0.28),
            (0.92, 0.35),
            (1.00, 0.11),
            (0.30, 0.41),
            (0.68, 0.06),
            (1.00, 0.55),
            (1.00, 0.79),
            (0.92, 0.11),
            (0.41, 0.42),
        ],
    },
    Published {
        name: "follows+pset",
        correlations: &[0.58, 0.25, 0.20, 0.52, 0.63, 0.11, 0.66, 0.92],
        greedy: &[
            (0.36, 0.47),
            (0.92, 0.46),
            (1.00, 0.08),
            (0.46, 0.42),
            (0.68, 0.03),
            (1.00, 0.55),
            (1.00, 0.80),
            (0.92, 0.13),
        ],
    },
    Published {
        name: "sync-pair+def-use",
        correlations: &[0.60, 0.27, 0.07, 0.51, 0.61, 0.26, 0.66, 0.90],
        greedy: &[
            (0.21, 0.35),
            (0.92, 0.41),
            (1.00, 0.11),
            (0.38, 0.46),
            (0.70, 0.08),
            (1.00, 0.43),
            (1.00, 0.72),
            (0.92, 0.09),
        ],
    },
    Published {
        name: "sync-pair+pset",
        correlations: &[0.58, 0.55, 0.66, 0.52, 0.67, 0.14, 0.74, 0.96],
        greedy: &[
            (0.40, 0.42),
            (0.92, 0.53),
            (1.00, 0.07),
            (0.33, 0.39),
            (0.68, 0.10),
            (1.00, 0.55),
            (1.00, 0.82),
            (0.92, 0.10),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::criteria::CRITERIA;

    #[test]
    fn figures_are_those_of_the_tables() {
        // Table 3.4: Twostage has 0.96 for PSet, Clean 0.16 for Blocked; Table 3.6: Clean 1.0 and 0.04 for Def-Use.
        let pset = named("pset").unwrap();
        assert_eq!((pset.correlations[7], pset.correlations.len()), (0.96, 8));
        assert_eq!(named("blocked").unwrap().correlations[2], 0.16);
        assert_eq!(named("def-use").unwrap().greedy[2], (1.0, 0.04));
        for published in &PUBLISHED {
            assert!(
                CRITERIA.iter().any(|it| it.name == published.name),
                "{}",
                published.name
            );
            let rates = published
                .greedy
                .iter()
                .flat_map(|(one, other)| [one, other]);
            assert!(
                rates
                    .chain(published.correlations)
                    .all(|it| (0.0..=1.0).contains(it))
            );
        }
        assert_eq!(named("adjacent").map(|it| it.name), None);
    }
}
