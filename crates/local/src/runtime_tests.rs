use super::physical_cores;

#[test]
fn two_threads_of_one_core_count_once() {
    let cpuinfo = "\
processor : 0\nphysical id : 0\ncore id : 0\n
processor : 1\nphysical id : 0\ncore id : 1\n
processor : 2\nphysical id : 0\ncore id : 0\n
processor : 3\nphysical id : 1\ncore id : 0\n";
    assert_eq!(
        (physical_cores(cpuinfo), physical_cores("processor : 0\n")),
        (Some(3), None)
    );
}
