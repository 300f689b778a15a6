use super::*;

#[test]
fn only_the_shared_library_with_the_c_interface_is_recognised() {
    let names = [
        "libclang.so",
        "libclang.so.1",
        "libclang-14.so",
        "libclang-14.so.1",
        "libclang-14.0.6.so",
        "libclang.so.18.1",
        "libclang.dylib",
        "libclang-cpp.so.14",
        "libclang-cpp.so",
        "libclangAST.a",
        "libclang_rt.so",
        "libclang.a",
        "libclang.solution",
        "clang.so",
    ];
    let recognised: Vec<&str> = names.into_iter().filter(|name| is_libclang(name)).collect();
    assert_eq!(recognised, names[..7]);
}
