use super::*;

/// C-11: cached input has its own price; the rest has the price of input.
#[test]
fn c11_cached_tokens_have_their_own_price() {
    let price = Price {
        input: 3.0,
        output: 15.0,
        cached: Some(0.3),
    };
    let usage = Usage {
        input: 1_000,
        output: 100,
        cached: 400,
    };
    // 600 × 3 + 400 × 0.3 + 100 × 15 = 3,420 dollars per million calls' worth
    assert_eq!(Some(price.of(usage)), Money::from_dollars(0.003_42));
}

#[test]
fn cached_tokens_are_capped_at_the_input() {
    let price = Price {
        input: 2.0,
        output: 0.0,
        cached: None,
    };
    let usage = Usage {
        input: 10,
        output: 0,
        cached: 99,
    };
    assert_eq!(Some(price.of(usage)), Money::from_dollars(0.000_02));
}

#[test]
fn money_rejects_invalid_amounts() {
    for wrong in [-0.01, f64::NAN, f64::INFINITY, 1e9] {
        assert_eq!(None, Money::from_dollars(wrong), "{wrong}");
    }
}

proptest::proptest! {
    #[test]
    fn sums_of_money_do_not_depend_on_order(mut amounts in proptest::collection::vec(0.0..10.0_f64, 0..50)) {
        let sum = |amounts: &[f64]| amounts.iter().filter_map(|&a| Money::from_dollars(a)).sum::<Money>();
        let forward = sum(&amounts);
        amounts.reverse();
        proptest::prop_assert_eq!(forward, sum(&amounts));
    }

    #[test]
    fn money_survives_json(dollars in 0.0..1000.0_f64) {
        let money = Money::from_dollars(dollars).unwrap();
        let text = serde_json::to_string(&money).unwrap();
        proptest::prop_assert_eq!(money, serde_json::from_str::<Money>(&text).unwrap());
    }
}

/// A server may report any number.
#[test]
fn sums_of_tokens_do_not_overflow() {
    let most = Usage {
        input: u64::MAX,
        output: u64::MAX,
        cached: 1,
    };
    let sum = most + most;
    assert_eq!((sum.input, sum.cached), (u64::MAX, 2));
    assert_eq!(sum.total(), u64::MAX);
}
