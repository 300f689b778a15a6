use super::*;

struct Fake(u32);

impl Model for Fake {
    fn stream(&self, _: Request) -> Deltas {
        Box::pin(futures::stream::empty())
    }

    fn profile(&self) -> Profile {
        Profile {
            context_tokens: Some(self.0),
            ..Profile::default()
        }
    }
}

#[test]
fn two_names_are_two_models() {
    let all = Arc::<OpenedModels<Fake>>::default();
    let by_name = OpenedModels::by_name(&all);
    let context = |name: &str| by_name(name).profile().context_tokens;
    assert!(all.open_once("small", || Fake(1)));
    assert_eq!([context("small"), context("large")], [Some(1), None]);
    assert!(all.open_once("large", || Fake(2)));
    assert!(!all.open_once("small", || Fake(3)));
    assert_eq!([context("small"), context("large")], [Some(1), Some(2)]);
}
