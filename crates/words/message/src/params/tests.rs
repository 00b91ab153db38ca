use super::*;
use crate::corpus::Dice;

fn budget() -> ParamBudget {
    ParamBudget { per_field: 1_000, left: 100_000, exceeded: false }
}

fn told(raw: &str) -> String {
    let Some(t) = content_type(raw.as_bytes(), &mut budget()) else { return "absent".into() };
    let params: Vec<_> =
        t.params.iter().map(|(name, value)| format!(" {name}=[{value}]")).collect();
    format!("{}/{}{}", t.media_type, t.subtype, params.concat())
}

#[test]
fn content_types_of_every_form() {
    let cases = [
        ("text/plain", "text/plain"),
        (" Text / PLAIN ;", "text/plain"),
        ("text/plain; charset=utf-8", "text/plain charset=[utf-8]"),
        ("text/plain;charset=\"utf-8\"", "text/plain charset=[utf-8]"),
        (
            "text/plain; charset = utf-8 ; format=flowed",
            "text/plain charset=[utf-8] format=[flowed]",
        ),
        ("text/plain charset=utf-8 format=flowed", "text/plain charset=[utf-8] format=[flowed]"),
        ("text/plain; charset=us-ascii (Plain text)", "text/plain charset=[us-ascii]"),
        ("(c) text (c) / (c) plain (c); (c) a (c) = (c) b (c)", "text/plain a=[b]"),
        ("text/plain; name=my file (1).pdf; x=y", "text/plain name=[my file] x=[y]"),
        ("text/plain; name=file(1).pdf", "text/plain name=[file(1).pdf]"),
        ("text/plain; name=\"a \\\"b\\\" \\\\ c;d\"", "text/plain name=[a \"b\" \\ c;d]"),
        ("text/plain; name=\"never closed; x=y", "text/plain name=[never closed; x=y]"),
        ("text/plain; name=\"folded\r\n name\"", "text/plain name=[folded name]"),
        ("text/plain; name=", "text/plain name=[]"),
        ("text/plain; ;; = ;\"x\"; a; b=c", "text/plain b=[c]"),
        ("text/plain; a=1; A=2", "text/plain a=[1]"),
        ("text/plain; é=1; b=2", "text/plain b=[2]"),
        ("image/jpg/x; a=b", "image/jpg a=[b]"),
        ("X-PACKED; boundary=\"\"", "absent"),
        ("text/", "absent"),
        ("/plain", "absent"),
        ("text", "absent"),
        ("", "absent"),
        ("\"text/plain\"", "absent"),
        ("t\u{e9}xt/plain", "absent"),
    ];
    for (raw, wanted) in cases {
        assert_eq!(told(raw), wanted, "{raw}");
    }
}

#[test]
fn continuations_and_charsets() {
    let cases = [
        ("a/b; n*=utf-8'en'%C3%A9", "a/b n=[é]"),
        ("a/b; n*=iso-8859-1''%E9t%E9", "a/b n=[été]"),
        ("a/b; n*=%C3%A9", "a/b n=[é]"),
        ("a/b; n*=utf-8''%zz%4", "a/b n=[%zz%4]"),
        ("a/b; n*1=two; n*0=one; n*2=\" three\"", "a/b n=[onetwo three]"),
        ("a/b; n*0*=utf-8''%C3; n*1*=%A9; n*2=%41", "a/b n=[é%41]"),
        ("a/b; n*0=a; n*2=c", "a/b n=[a]"),
        ("a/b; n*1=a; n*2=b", "a/b n=[ab]"),
        ("a/b; n*0=a; n*0=x; n*1=b", "a/b n=[ab]"),
        ("a/b; n=plain; n*=utf-8''better; m=1", "a/b n=[better] m=[1]"),
        ("a/b; z=1; n*0=a; y=2; n*1=b", "a/b z=[1] n=[ab] y=[2]"),
        ("a/b; n*99999999999=a", "a/b n*99999999999=[a]"),
        ("a/b; n=caf\u{e9}", "a/b n=[café]"),
    ];
    for (raw, wanted) in cases {
        assert_eq!(told(raw), wanted, "{raw}");
    }
}

#[test]
fn dispositions() {
    let told = |raw: &str| disposition(raw.as_bytes(), &mut budget());
    let attachment =
        |name: &str| Some(("attachment".into(), vec![("filename".into(), name.into())]));
    assert_eq!(told("inline"), Some(("inline".into(), vec![])));
    assert_eq!(told("Attachment; FileName=a"), attachment("a"));
    assert_eq!(told("attachment filename=a"), attachment("a"));
    assert_eq!(told("; filename=a"), attachment("a"));
    for none in ["", ";", "Sealed / Registered Letter No 7", "\"x\"", "=?utf-8?q?x?="] {
        assert_eq!(told(none), None, "{none}");
    }
}

#[test]
fn budget_is_kept() {
    let mut budget = ParamBudget { per_field: 2, left: 3, exceeded: false };
    assert_eq!(content_type(b"a/b; x=1; y=2; z=3", &mut budget).unwrap().params.len(), 2);
    assert_eq!((budget.left, budget.exceeded), (1, true));
    assert_eq!(content_type(b"a/b; x=1; y=2; z=3", &mut budget).unwrap().params.len(), 1);
}

#[test]
fn noise_ends() {
    let letters = b"ab=;*01'%\" \r\n()/\\\xe9";
    for seed in 1..5_000 {
        let mut dice = Dice::new(seed);
        let mut raw = b"a/b;".to_vec();
        raw.extend(
            (0..dice.below(40)).map(|i| letters[(seed as usize * 31 + i * i * 7) % letters.len()]),
        );
        let parsed = content_type(&raw, &mut budget()).unwrap();
        assert!(parsed.params.iter().all(|p| p.0.is_ascii() && !p.0.is_empty()), "seed {seed}");
    }
}
