use super::{other_running_threads, physical_cores, require_all};

#[test]
fn hyperthreads_of_one_core_count_once() {
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

#[test]
fn the_calling_thread_is_not_counted() {
    assert_eq!(
        other_running_threads("0.52 0.58 0.59 3/467 11111\n"),
        Some(2)
    );
}

#[test]
fn a_processor_without_the_instructions_is_refused_by_name() {
    assert_eq!(require_all(&[("AVX2", true), ("FMA", true)]), Ok(()));
    assert_eq!(
        require_all(&[("AVX2", false), ("BMI2", true), ("FMA", false)]),
        Err("this processor has no AVX2, FMA, which the embedded model needs. Use a hosted model or Ollama".to_owned())
    );
}
