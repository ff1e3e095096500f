//! Undo and redo.

use crate::logic::document::Document;

/// Steps that are kept.
const STEPS: usize = 200;

/// Documents before and after the present one.
#[derive(Clone, Debug)]
pub struct History {
    past: Vec<Document>,
    present: Document,
    future: Vec<Document>,
}

impl History {
    /// Begins with a document.
    pub fn new(present: Document) -> History {
        History { past: Vec::new(), present, future: Vec::new() }
    }

    /// Takes a document as the next step, unless nothing changed. What was undone can then not be redone.
    ///
    /// It is called when an edit is complete (the pointer is up), so that a drag is one step.
    pub fn commit(&mut self, document: &Document) -> bool {
        if *document == self.present {
            return false;
        }
        self.past.push(std::mem::replace(&mut self.present, document.clone()));
        if self.past.len() > STEPS {
            self.past.remove(0);
        }
        self.future.clear();
        true
    }

    /// The document of the last step.
    pub fn present(&self) -> &Document {
        &self.present
    }

    /// One step back.
    pub fn undo(&mut self) -> Option<&Document> {
        let before = self.past.pop()?;
        self.future.push(std::mem::replace(&mut self.present, before));
        Some(&self.present)
    }

    /// One step forward again.
    pub fn redo(&mut self) -> Option<&Document> {
        let after = self.future.pop()?;
        self.past.push(std::mem::replace(&mut self.present, after));
        Some(&self.present)
    }

    /// Whether there is a step back.
    pub fn can_undo(&self) -> bool {
        !self.past.is_empty()
    }

    /// Whether there is a step forward.
    pub fn can_redo(&self) -> bool {
        !self.future.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(taylor: u32) -> Document {
        let mut document = Document::default();
        document.state.taylor = taylor;
        document
    }

    #[test]
    fn steps_back_and_forward() {
        let mut history = History::new(document(1));
        assert!(!history.commit(&document(1)));
        assert!(history.commit(&document(2)) && history.commit(&document(3)));
        assert_eq!(history.undo().map(|d| d.state.taylor), Some(2));
        assert_eq!(history.undo().map(|d| d.state.taylor), Some(1));
        assert!(history.undo().is_none() && history.can_redo());
        assert_eq!(history.redo().map(|d| d.state.taylor), Some(2));
        assert!(history.commit(&document(5)));
        assert!(history.redo().is_none());
        assert_eq!(history.undo().map(|d| d.state.taylor), Some(2));
    }

    #[test]
    fn old_steps_go() {
        let mut history = History::new(document(0));
        for step in 1..=STEPS as u32 + 10 {
            history.commit(&document(step));
        }
        let mut undone = 0;
        while history.undo().is_some() {
            undone += 1;
        }
        assert_eq!((undone, history.present().state.taylor), (STEPS, 10));
    }
}
