//! Functions of OpenMP that are not controlled: a call of one is a failure.

use std::ffi::CStr;

use super::{caller, runtime};
use crate::host::mode::host;
use crate::threads::failure;

/// Reports that the program called a function by this name.
fn refuse(name: &CStr) -> ! {
    let code = caller();
    host(|| {
        let name = name.to_string_lossy();
        failure::fail_at(
            &format!("{name} of OpenMP is not controlled by raddle"),
            code,
        )
    })
}

/// Defines functions that report that they are not supported.
macro_rules! refused {
    ($($name:ident)*) => {
        $(
            const _: () = {
                extern "C" fn say() -> ! {
                    const NAME: &CStr = match CStr::from_bytes_with_nul(
                        concat!(stringify!($name), "\0").as_bytes(),
                    ) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    };
                    refuse(NAME)
                }

                runtime! {
                    fn $name as say;
                }
            };
        )*
    };
}

refused! {
    GOMP_barrier_cancel GOMP_cancel GOMP_doacross_post GOMP_doacross_ull_post
    GOMP_doacross_ull_wait GOMP_doacross_wait GOMP_loop_doacross_dynamic_start
    GOMP_loop_doacross_guided_start GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start
    GOMP_loop_doacross_static_start GOMP_loop_end_cancel GOMP_loop_ordered_start GOMP_loop_start
    GOMP_loop_ull_doacross_dynamic_start GOMP_loop_ull_doacross_guided_start
    GOMP_loop_ull_doacross_runtime_start GOMP_loop_ull_doacross_start
    GOMP_loop_ull_doacross_static_start GOMP_loop_ull_dynamic_next GOMP_loop_ull_dynamic_start
    GOMP_loop_ull_guided_next GOMP_loop_ull_guided_start
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_start
    GOMP_loop_ull_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_dynamic_start
    GOMP_loop_ull_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_guided_start
    GOMP_loop_ull_nonmonotonic_runtime_next GOMP_loop_ull_nonmonotonic_runtime_start
    GOMP_loop_ull_ordered_dynamic_next GOMP_loop_ull_ordered_dynamic_start
    GOMP_loop_ull_ordered_guided_next GOMP_loop_ull_ordered_guided_start
    GOMP_loop_ull_ordered_runtime_next GOMP_loop_ull_ordered_runtime_start
    GOMP_loop_ull_ordered_start GOMP_loop_ull_ordered_static_next
    GOMP_loop_ull_ordered_static_start GOMP_loop_ull_runtime_next GOMP_loop_ull_runtime_start
    GOMP_loop_ull_start GOMP_loop_ull_static_next GOMP_loop_ull_static_start GOMP_parallel_end
    GOMP_parallel_loop_dynamic_start GOMP_parallel_loop_guided_start
    GOMP_parallel_loop_runtime_start GOMP_parallel_loop_static GOMP_parallel_loop_static_start
    GOMP_parallel_reductions GOMP_parallel_sections_start GOMP_parallel_start GOMP_scope_start
    GOMP_sections2_start GOMP_sections_end_cancel GOMP_target GOMP_target_data
    GOMP_target_data_ext GOMP_target_end_data GOMP_target_enter_exit_data GOMP_target_ext
    GOMP_target_update GOMP_target_update_ext GOMP_task_reduction_remap
    GOMP_taskgroup_reduction_register GOMP_taskgroup_reduction_unregister GOMP_taskloop
    GOMP_taskloop_ull GOMP_taskwait_depend GOMP_teams GOMP_teams4 GOMP_teams_reg
    GOMP_workshare_task_reduction_unregister __kmpc_barrier_master __kmpc_barrier_master_nowait
    __kmpc_cancel __kmpc_cancel_barrier __kmpc_cancellationpoint __kmpc_destroy_lock
    __kmpc_destroy_nest_lock __kmpc_dist_dispatch_init_4 __kmpc_dist_dispatch_init_4u
    __kmpc_dist_dispatch_init_8 __kmpc_dist_dispatch_init_8u __kmpc_dist_for_static_init_4
    __kmpc_dist_for_static_init_4u __kmpc_dist_for_static_init_8 __kmpc_dist_for_static_init_8u
    __kmpc_doacross_fini __kmpc_doacross_init __kmpc_doacross_post __kmpc_doacross_wait
    __kmpc_error __kmpc_fork_teams __kmpc_init_lock __kmpc_init_lock_with_hint
    __kmpc_init_nest_lock __kmpc_init_nest_lock_with_hint __kmpc_invoke_task_func __kmpc_omp_reg_task_with_affinity __kmpc_omp_task_parts __kmpc_omp_task_with_deps
    __kmpc_omp_wait_deps __kmpc_proxy_task_completed
    __kmpc_proxy_task_completed_ooo __kmpc_push_num_teams __kmpc_push_num_teams_51 __kmpc_scope
    __kmpc_set_lock __kmpc_set_nest_lock __kmpc_task_allow_completion_event
    __kmpc_task_reduction_get_th_data __kmpc_task_reduction_init
    __kmpc_task_reduction_modifier_fini __kmpc_task_reduction_modifier_init __kmpc_taskloop
    __kmpc_taskloop_5 __kmpc_taskred_init __kmpc_taskred_modifier_init __kmpc_team_static_init_4
    __kmpc_team_static_init_4u __kmpc_team_static_init_8 __kmpc_team_static_init_8u
    __kmpc_test_lock __kmpc_test_nest_lock __kmpc_threadprivate __kmpc_threadprivate_cached
    __kmpc_threadprivate_register __kmpc_threadprivate_register_vec __kmpc_unset_lock
    __kmpc_unset_nest_lock
}
