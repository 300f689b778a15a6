use sysinfo::CGroupLimits;

use super::{Memory, check_disk_space};

#[test]
fn memory_of_this_machine_is_detected() {
    let memory = Memory::detect();
    assert!(
        memory.available > 0 && memory.available <= memory.total,
        "{memory:?}"
    );
}

#[test]
fn a_container_has_its_limit_less_what_its_processes_use() {
    let system = Memory {
        total: 32_000,
        available: 20_000,
    };
    let limited = |total_memory, rss| {
        system.within(Some(CGroupLimits {
            total_memory,
            // As after a download: the rest is cached files, which the kernel gives up.
            free_memory: 10,
            free_swap: 0,
            rss,
        }))
    };
    let memory = |total, available| Memory { total, available };
    assert_eq!(limited(4_000, 1_000), memory(4_000, 3_000));
    // A limit above the memory that the machine has left.
    assert_eq!(limited(30_000, 1_000), memory(30_000, 20_000));
    assert_eq!(limited(64_000, 1_000), memory(32_000, 20_000));
    assert_eq!(system.within(None), system);
}

#[test]
fn a_full_disk_is_an_error_with_the_space_required() {
    let folder = tempfile::tempdir().unwrap();
    let error = check_disk_space("large", folder.path(), u64::MAX / 2).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("not enough space in"), "{message}");
    assert!(
        message.contains("9684"),
        "the requirement with its reserve: {message}"
    );
    check_disk_space("small", folder.path(), 1).unwrap();
}
