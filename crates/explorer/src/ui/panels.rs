//! The registry of panels.

pub mod matrix;
pub mod operator;
pub mod precision;
pub mod speed;
pub mod sweeps;
pub mod theorems;

use crate::ui::panel::Panel;

/// Every panel, in the order of the menu and of the tabs. Tests loop over this list.
pub fn all() -> Vec<Box<dyn Panel>> {
    vec![
        Box::new(operator::Operator::default()),
        Box::new(matrix::Matrix::default()),
        Box::new(sweeps::Sweeps::default()),
        Box::new(precision::Precision::default()),
        Box::new(theorems::Theorems::default()),
        Box::new(speed::Speed::default()),
    ]
}
