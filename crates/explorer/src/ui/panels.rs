//! The registry of panels.

pub mod matrix;
pub mod operator;

use crate::ui::panel::Panel;

/// Every panel, in the order of the menu and of the tabs. Tests loop over this list.
pub fn all() -> Vec<Box<dyn Panel>> {
    vec![Box::new(operator::Operator::default()), Box::new(matrix::Matrix::default())]
}
