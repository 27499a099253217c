//! The tables of the queue, and its steps as functions of the server. A call of a function is a transaction.
//!
//! A step locks rows in this order, so that no two steps wait for each other: run, front, search, worker, item.
//! Only the holder of a search's row adds items to it, removes them and changes its results, so its end is seen
//! by the commit that removes the last item. An item is in the table until it is committed, leased or not. Leasing
//! passes over items that another transaction holds (`SKIP LOCKED`). The server's clock decides when a lease ends; a
//! clock that is wrong only has work done twice, because a commit needs the token.

/// Number of this layout of tables and functions. It changes with them.
pub const LAYOUT: u32 = 6;

/// Creates the tables and functions in the schema `@schema@`, which the session searches. In one transaction, alone.
pub const CREATE: &str = r#"
SELECT pg_advisory_xact_lock(7723001);
CREATE SCHEMA IF NOT EXISTS "@schema@";
CREATE TABLE IF NOT EXISTS run (one boolean PRIMARY KEY DEFAULT true CHECK (one), version text NOT NULL,
    environment text NOT NULL);
CREATE TABLE IF NOT EXISTS front (one boolean PRIMARY KEY DEFAULT true CHECK (one), token text NOT NULL,
    until timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS searches (name text PRIMARY KEY, settings text NOT NULL, ended text,
    classes bigint NOT NULL DEFAULT 0, is_sketched boolean NOT NULL DEFAULT false, budget bigint);
CREATE TABLE IF NOT EXISTS workers (name text PRIMARY KEY, seen timestamptz NOT NULL);
CREATE TABLE IF NOT EXISTS items (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, search text NOT NULL,
    body text NOT NULL, token text, until timestamptz, problems integer NOT NULL DEFAULT 0,
    granted bigint NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS items_ready ON items (number) WHERE token IS NULL;
CREATE INDEX IF NOT EXISTS items_leased ON items (until) WHERE token IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_search ON items (search);
CREATE TABLE IF NOT EXISTS sums (search text, name text, value bigint NOT NULL, PRIMARY KEY (search, name));
CREATE TABLE IF NOT EXISTS facts (search text, name text, detail text NOT NULL, PRIMARY KEY (search, name));
CREATE TABLE IF NOT EXISTS findings (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, search text NOT NULL,
    key text NOT NULL, earlier bigint NOT NULL, finding text NOT NULL);
CREATE TABLE IF NOT EXISTS classes (search text, class bigint, PRIMARY KEY (search, class));
CREATE TABLE IF NOT EXISTS ranks (search text, register integer, rank integer NOT NULL, PRIMARY KEY (search, register));

CREATE OR REPLACE FUNCTION open_run(p_version text, p_environment text)
    RETURNS TABLE (there_version text, there_environment text) LANGUAGE plpgsql AS $$
BEGIN
    -- The update changes nothing; it has the row that is there returned, and no other removes it before the end.
    RETURN QUERY INSERT INTO run AS there (version, environment) VALUES (p_version, p_environment)
        ON CONFLICT (one) DO UPDATE SET version = there.version RETURNING there.version, there.environment;
END $$;

CREATE OR REPLACE FUNCTION hold_front(p_token text, p_time interval) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO front (token, until) VALUES (p_token, clock_timestamp() + p_time)
        ON CONFLICT (one) DO UPDATE SET token = excluded.token, until = excluded.until
        WHERE front.token = excluded.token OR front.until <= clock_timestamp();
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION start_search(p_name text, p_settings text, p_limit bigint, p_sums text[], p_values bigint[],
    p_facts text[], p_details text[], p_keys text[], p_findings text[], p_items text[]) RETURNS text
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO searches (name, settings, budget) VALUES (p_name, p_settings, p_limit) ON CONFLICT (name) DO NOTHING;
    IF NOT FOUND THEN
        RETURN (SELECT settings FROM searches WHERE name = p_name);
    END IF;
    INSERT INTO sums (search, name, value) SELECT p_name, n, v FROM unnest(p_sums, p_values) AS new (n, v);
    INSERT INTO facts (search, name, detail) SELECT p_name, n, d FROM unnest(p_facts, p_details) AS new (n, d);
    INSERT INTO findings (search, key, earlier, finding) SELECT p_name, new.key, 0, new.finding
        FROM unnest(p_keys, p_findings) WITH ORDINALITY AS new (key, finding, place) ORDER BY new.place;
    INSERT INTO items (search, body)
        SELECT p_name, new.body FROM unnest(p_items) WITH ORDINALITY AS new (body, place) ORDER BY new.place;
    PERFORM pg_notify('raddle:' || current_schema(), '');
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION export_search(p_search text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    UPDATE searches SET ended = 'exported' WHERE name = p_search AND (ended IS NULL OR ended = 'exported');
    IF FOUND THEN
        RETURN QUERY SELECT ''::text;
        RETURN QUERY SELECT body FROM items WHERE search = p_search ORDER BY number;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION see_worker(p_worker text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO workers (name, seen) VALUES (p_worker, clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET seen = excluded.seen;
END $$;

CREATE OR REPLACE FUNCTION lease_item(p_worker text, p_token text, p_time interval, p_gone interval, p_fewest bigint)
    RETURNS TABLE (answer text, item bigint, in_search text, item_body text, known text[], ready bigint,
        there bigint, sketched boolean, allowed bigint) LANGUAGE plpgsql AS $$
DECLARE
    taken bigint;
    of_search text;
    had bigint;
    rest bigint;
    new_grant bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM run) THEN
        RETURN QUERY SELECT 'none', NULL::bigint, NULL::text, NULL::text, NULL::text[], NULL::bigint, NULL::bigint,
            NULL::boolean, NULL::bigint;
        RETURN;
    END IF;
    PERFORM see_worker(p_worker);
    -- The items of a search that stops are not handed out again.
    SELECT number, search, granted INTO taken, of_search, had FROM items
        WHERE token IS NOT NULL AND until <= clock_timestamp()
        AND NOT EXISTS (SELECT 1 FROM searches WHERE name = items.search AND ended IS NOT NULL)
        ORDER BY until LIMIT 1 FOR UPDATE OF items SKIP LOCKED;
    IF taken IS NULL THEN
        -- Where no run is left, others may give some back.
        SELECT number, search, granted INTO taken, of_search, had FROM items WHERE token IS NULL
            AND NOT EXISTS (SELECT 1 FROM searches
                WHERE name = items.search AND (budget = 0 OR ended IS NOT NULL))
            ORDER BY number LIMIT 1 FOR UPDATE OF items SKIP LOCKED;
    END IF;
    IF taken IS NOT NULL AND EXISTS (SELECT 1 FROM searches WHERE name = of_search AND budget IS NOT NULL) THEN
        -- A step that holds the search may wait for the item, so this one does not wait for the search.
        SELECT budget + had INTO rest FROM searches WHERE name = of_search FOR UPDATE SKIP LOCKED;
        IF rest > 0 THEN
            new_grant := least(rest, greatest(p_fewest, rest / (2 * (SELECT count(*) FROM workers
                WHERE seen > clock_timestamp() - p_gone))));
            UPDATE searches SET budget = rest - new_grant WHERE name = of_search;
        ELSE
            taken := NULL;
        END IF;
    END IF;
    IF taken IS NULL THEN
        RETURN QUERY SELECT CASE WHEN EXISTS (SELECT 1 FROM front WHERE until > clock_timestamp())
            THEN 'waiting' ELSE 'empty' END, NULL::bigint, NULL::text, NULL::text, NULL::text[], NULL::bigint,
            NULL::bigint, NULL::boolean, NULL::bigint;
        RETURN;
    END IF;
    UPDATE items SET token = p_token, until = clock_timestamp() + p_time, granted = coalesce(new_grant, 0)
        WHERE number = taken;
    RETURN QUERY SELECT 'item', taken, items.search, items.body,
        ARRAY(SELECT key FROM findings WHERE findings.search = items.search ORDER BY number),
        -- Beyond this number, the exact one is of no use to a worker.
        (SELECT count(*) FROM (SELECT 1 FROM items WHERE token IS NULL LIMIT 100000) AS counted),
        (SELECT count(*) FROM workers WHERE seen > clock_timestamp() - p_gone),
        (SELECT is_sketched FROM searches WHERE name = items.search), new_grant
        FROM items WHERE items.number = taken;
END $$;

CREATE OR REPLACE FUNCTION extend_lease(p_item bigint, p_token text, p_worker text, p_time interval)
    RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM see_worker(p_worker);
    UPDATE items SET until = clock_timestamp() + p_time WHERE number = p_item AND token = p_token;
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION commit_item(p_item bigint, p_token text, p_search text, p_counted text, p_is_over boolean,
    p_sums text[], p_values bigint[], p_facts text[], p_details text[], p_keys text[], p_findings text[],
    p_items text[], p_gone interval, p_classes bigint[], p_registers integer[], p_ranks integer[], p_exact bigint,
    p_runs bigint, p_next text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ending text;
    earlier_count bigint;
    sketched boolean;
    known bigint;
    added bigint;
    had bigint;
    rest bigint;
BEGIN
    SELECT ended, is_sketched, classes INTO ending, sketched, known FROM searches WHERE name = p_search FOR UPDATE;
    IF NOT FOUND OR ending = 'exported' THEN
        RETURN 'late';
    END IF;
    DELETE FROM items WHERE number = p_item AND token = p_token AND search = p_search RETURNING granted INTO had;
    IF NOT FOUND OR ending <> 'stopping' THEN
        RETURN 'late';
    END IF;
    UPDATE searches SET budget = budget + greatest(had - p_runs, 0) WHERE name = p_search RETURNING budget INTO rest;
    SELECT value INTO earlier_count FROM sums WHERE search = p_search AND name = p_counted;
    INSERT INTO sums (search, name, value) SELECT p_search, n, v FROM unnest(p_sums, p_values) AS new (n, v)
        ON CONFLICT (search, name) DO UPDATE SET value = sums.value + excluded.value;
    INSERT INTO facts (search, name, detail) SELECT p_search, n, d FROM unnest(p_facts, p_details) AS new (n, d)
        ON CONFLICT (search, name) DO NOTHING;
    FOR at IN 1 .. coalesce(array_length(p_keys, 1), 0) LOOP
        IF NOT EXISTS (SELECT 1 FROM findings WHERE search = p_search AND key = p_keys[at]) THEN
            INSERT INTO findings (search, key, earlier, finding)
                VALUES (p_search, p_keys[at], coalesce(earlier_count, 0), p_findings[at]);
        END IF;
    END LOOP;
    IF ending IS NULL THEN
        INSERT INTO items (search, body)
            SELECT p_search, new.body FROM unnest(p_items) WITH ORDINALITY AS new (body, place) ORDER BY new.place;
    END IF;
    IF coalesce(array_length(p_classes, 1), 0) > 0 AND NOT sketched THEN
        INSERT INTO classes (search, class) SELECT p_search, new.class FROM unnest(p_classes) AS new (class)
            ON CONFLICT (search, class) DO NOTHING;
        GET DIAGNOSTICS added = ROW_COUNT;
        UPDATE searches SET classes = known + added, is_sketched = known + added > p_exact WHERE name = p_search;
        IF known + added > p_exact THEN
            DELETE FROM classes WHERE search = p_search;
        END IF;
    END IF;
    INSERT INTO ranks (search, register, rank) SELECT p_search, g, r FROM unnest(p_registers, p_ranks) AS new (g, r)
        ON CONFLICT (search, register) DO UPDATE SET rank = excluded.rank WHERE ranks.rank < excluded.rank;
    IF p_is_over THEN
        UPDATE searches SET ended = 'finding' WHERE name = p_search;
        DELETE FROM items WHERE search = p_search;
    ELSIF ending IS NULL AND p_next <> '' AND NOT EXISTS (SELECT 1 FROM items WHERE search = p_search) THEN
        INSERT INTO items (search, body) VALUES (p_search, p_next);
        PERFORM pg_notify('raddle:' || current_schema(), '');
    ELSIF NOT EXISTS (SELECT 1 FROM items WHERE search = p_search) THEN
        UPDATE searches SET ended = CASE WHEN ending IS NULL THEN 'exhausted' ELSE 'stopped' END WHERE name = p_search;
    ELSIF rest = 0 AND NOT EXISTS (SELECT 1 FROM items WHERE search = p_search AND granted > 0) THEN
        UPDATE searches SET ended = 'spent' WHERE name = p_search;
        DELETE FROM items WHERE search = p_search;
    ELSIF coalesce(array_length(p_items, 1), 0) > 0
        AND (SELECT count(*) FROM (SELECT 1 FROM items WHERE token IS NULL LIMIT 100000) AS counted)
            <= 2 * (SELECT count(*) FROM workers WHERE seen > clock_timestamp() - p_gone) THEN
        -- Only a queue with few items has workers that wait.
        PERFORM pg_notify('raddle:' || current_schema(), '');
    END IF;
    RETURN 'done';
END $$;

CREATE OR REPLACE FUNCTION abandon_item(p_item bigint, p_token text, p_search text, p_most integer, p_problem text)
    RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tries integer;
    ending text;
    had bigint;
BEGIN
    SELECT ended INTO ending FROM searches WHERE name = p_search FOR UPDATE;
    IF ending = 'stopping' THEN
        DELETE FROM items WHERE number = p_item AND token = p_token;
        UPDATE searches SET ended = 'stopped' WHERE name = p_search
            AND NOT EXISTS (SELECT 1 FROM items WHERE search = p_search);
        RETURN;
    END IF;
    SELECT granted INTO had FROM items WHERE number = p_item AND token = p_token;
    UPDATE searches SET budget = budget + coalesce(had, 0) WHERE name = p_search;
    -- With a new number it comes after all others, so that none waits for it.
    UPDATE items SET number = DEFAULT, token = NULL, until = NULL, granted = 0,
        problems = problems + (p_problem <> '')::integer
        WHERE number = p_item AND token = p_token RETURNING problems INTO tries;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF p_problem <> '' AND tries >= p_most THEN
        UPDATE searches SET ended = E'broken\n' || p_problem WHERE name = p_search AND ended IS NULL;
        DELETE FROM items WHERE search = p_search;
    ELSE
        PERFORM pg_notify('raddle:' || current_schema(), '');
    END IF;
END $$;

CREATE OR REPLACE FUNCTION go_on(p_search text, p_item text, p_fact text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM searches WHERE name = p_search AND ended IN ('stopped', 'spent', 'exhausted') FOR UPDATE;
    IF NOT FOUND OR EXISTS (SELECT 1 FROM facts WHERE search = p_search AND name = p_fact) THEN
        RETURN;
    END IF;
    INSERT INTO facts (search, name, detail) VALUES (p_search, p_fact, '');
    DELETE FROM items WHERE search = p_search;
    UPDATE searches SET ended = NULL, budget = NULL WHERE name = p_search;
    INSERT INTO items (search, body) VALUES (p_search, p_item);
    PERFORM pg_notify('raddle:' || current_schema(), '');
END $$;

CREATE OR REPLACE FUNCTION note_fact(p_search text, p_fact text, p_detail text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM searches WHERE name = p_search AND (ended IS NULL OR ended = 'stopping') FOR UPDATE;
    IF FOUND THEN
        INSERT INTO facts (search, name, detail) VALUES (p_search, p_fact, p_detail)
            ON CONFLICT (search, name) DO UPDATE SET detail = excluded.detail;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION stop_search(p_search text, p_at_once boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM searches WHERE name = p_search AND (ended IS NULL OR ended = 'stopping') FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM items WHERE search = p_search AND (token IS NULL OR p_at_once);
    UPDATE searches SET ended = CASE WHEN EXISTS (SELECT 1 FROM items WHERE search = p_search)
        THEN 'stopping' ELSE 'stopped' END WHERE name = p_search;
END $$;

CREATE OR REPLACE FUNCTION remove_run() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run;
    DELETE FROM front;
    DELETE FROM searches;
    DELETE FROM workers;
    DELETE FROM items;
    DELETE FROM sums;
    DELETE FROM facts;
    DELETE FROM findings;
    DELETE FROM classes;
    DELETE FROM ranks;
END $$;

CREATE TABLE layout (number integer NOT NULL);
INSERT INTO layout VALUES (@layout@);
"#;

/// Returns the number of the layout, if there is one.
pub const FIND_LAYOUT: &str = "SELECT to_regclass('\"@schema@\".layout')";

/// A statement with its name.
pub struct Step(pub &'static str, pub &'static str);

/// version, environment
pub const OPEN_RUN: Step = Step("open_run", "SELECT * FROM open_run($1, $2)");
pub const RUN: Step = Step("run", "SELECT version, environment FROM run");
/// token, time
pub const HOLD_FRONT: Step = Step("hold_front", "SELECT hold_front($1, $2::interval)");
/// token
pub const RELEASE_FRONT: Step = Step("release_front", "DELETE FROM front WHERE token = $1");
/// search, settings, maximum number of runs or an empty text, names and values of sums, names and details of facts,
/// keys and texts of findings, items
pub const START: Step = Step(
    "start",
    "SELECT start_search($1, $2, nullif($3, '')::bigint, $4::text[], $5::bigint[], $6::text[], $7::text[], \
     $8::text[], $9::text[], $10::text[])",
);
/// search
pub const EXPORT: Step = Step("export", "SELECT * FROM export_search($1)");
/// worker, token, time, time after which a worker is gone, fewest runs that are granted
pub const LEASE: Step = Step(
    "lease",
    "SELECT * FROM lease_item($1, $2, $3::interval, $4::interval, $5::bigint)",
);
/// item, token, worker, time
pub const HEARTBEAT: Step = Step(
    "heartbeat",
    "SELECT extend_lease($1::bigint, $2, $3, $4::interval)",
);
/// item, token, search, name of the sum before findings, whether the search is over, names and values of sums, names
/// and details of facts, keys and texts of findings, items, time after which a worker is gone, classes, registers and
/// their ranks, maximum number of classes that are counted exactly, number of runs, the item that follows when none is
/// left or an empty text
pub const COMMIT: Step = Step(
    "commit",
    "SELECT commit_item($1::bigint, $2, $3, $4, $5::boolean, $6::text[], $7::bigint[], $8::text[], $9::text[], \
     $10::text[], $11::text[], $12::text[], $13::interval, $14::bigint[], $15::integer[], $16::integer[], \
     $17::bigint, $18::bigint, $19)",
);
/// item, token, search, maximum number of problems, the problem or nothing
pub const ABANDON: Step = Step(
    "abandon",
    "SELECT abandon_item($1::bigint, $2, $3, $4::integer, $5)",
);
/// search, item, name of the fact
pub const GO_ON: Step = Step("go_on", "SELECT go_on($1, $2, $3)");
/// search, fact, detail
pub const NOTE: Step = Step("note", "SELECT note_fact($1, $2, $3)");
/// search, whether it ends at once
pub const STOP: Step = Step("stop", "SELECT stop_search($1, $2::boolean)");
pub const REMOVE_RUN: Step = Step("remove_run", "SELECT remove_run()");
/// time after which a worker is gone
///
/// One statement, so that all rows are of one state: kind, search or name, two texts, number, order.
pub const STATUS: Step = Step(
    "status",
    "SELECT 'run', '', '', NULL, 0::bigint, 0::bigint FROM run \
     UNION ALL SELECT 'search', name, settings, ended, 0, 1 FROM searches \
     UNION ALL SELECT 'classes', name, '', NULL, classes, 2 FROM searches WHERE NOT is_sketched \
     UNION ALL SELECT 'rank', name, rank::text, NULL, count(*), 2 FROM searches JOIN ranks ON search = name \
        WHERE is_sketched GROUP BY name, rank \
     UNION ALL SELECT 'left', search, '', NULL, count(*), 2 FROM items GROUP BY search \
     UNION ALL SELECT 'sum', search, name, NULL, value, 2 FROM sums \
     UNION ALL SELECT 'fact', search, name, detail, 0, 2 FROM facts \
     UNION ALL SELECT 'finding', search, finding, NULL, earlier, 2 + number FROM findings \
     UNION ALL SELECT 'ready', '', '', NULL, count(*), 2 FROM items WHERE token IS NULL \
     UNION ALL SELECT 'leased', '', '', NULL, count(*), 2 FROM items WHERE token IS NOT NULL \
     UNION ALL SELECT 'worker', name, '', NULL, 0, 2 FROM workers WHERE seen > clock_timestamp() - $1::interval \
     UNION ALL SELECT 'front', '', '', NULL, count(*), 2 FROM front WHERE until > clock_timestamp() \
     ORDER BY 6, 2",
);
