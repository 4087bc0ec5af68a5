//! The error of a helper, as one line for its supervisor.

use std::io;

use unjank_host::{Error, ErrorClass};

/// What a helper says when it has begun (a server, a keeper) or is done.
const FINE: &str = "ok";

/// The classes by their names in a line.
const CLASSES: [(&str, ErrorClass); 3] = [
    ("usage", ErrorClass::Usage),
    ("unsupported", ErrorClass::Unsupported),
    ("permission", ErrorClass::Permission),
];

/// The answer of a helper.
pub(super) fn line(result: Result<(), &Error>) -> String {
    let Err(error) = result else { return FINE.to_owned() };
    let class = CLASSES.into_iter().find(|(_, class)| *class == error.class());
    let text = error.to_string().replace('\n', " ");
    format!("{}: {text}", class.map_or("other", |(name, _)| name))
}

/// The result in an answer of the helper that does `task`, or in none.
pub(super) fn read(answer: &str, task: &'static str) -> Result<(), Error> {
    let answer = answer.trim_end();
    if answer == FINE {
        return Ok(());
    }
    let Some((class, text)) = answer.split_once(": ") else {
        return Err(Error::Busy(format!("the {task} process of the swap tier was killed")));
    };
    let class = CLASSES.into_iter().find(|(name, _)| *name == class);
    Err(match class.map(|(_, class)| class) {
        Some(ErrorClass::Usage) => Error::Invalid(text.to_owned()),
        Some(ErrorClass::Unsupported) => Error::Unsupported(text.to_owned()),
        Some(ErrorClass::Permission) => permission(text),
        _ => Error::Busy(text.to_owned()),
    })
}

fn permission(text: &str) -> Error {
    if let Some((what, needs)) = text.split_once(" needs ") {
        return Error::Permission { what: what.to_owned(), needs: needs.to_owned() };
    }
    let source = io::Error::new(io::ErrorKind::PermissionDenied, text.to_owned());
    Error::file("start", "the swap tier", source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_class_and_its_text() {
        let busy = Error::Busy("/dev/sdb2 is in use".to_owned());
        let permission = Error::Permission { what: "x".to_owned(), needs: "root".to_owned() };
        let errors = [
            Error::Invalid("a: b".to_owned()),
            Error::Unsupported("c".to_owned()),
            permission,
            busy,
        ];
        for error in errors {
            let back = read(&format!("{}\n", line(Err(&error))), "serve").unwrap_err();
            assert_eq!((back.class(), back.to_string()), (error.class(), error.to_string()));
        }
        let refused = Error::file("open", "/x", io::ErrorKind::PermissionDenied.into());
        assert_eq!(
            read(&line(Err(&refused)), "serve").unwrap_err().class(),
            ErrorClass::Permission
        );
        assert!(read(&line(Ok(())), "serve").is_ok());
        let killed = read("", "serve").unwrap_err().to_string();
        assert_eq!(killed, "the serve process of the swap tier was killed");
    }
}
