//! Rows that show one thing each.

use crate::logic::inputs::row_of_head;
use crate::logic::source::Source;
use crate::logic::state::{Head, Origin, Row};
use serde::{Deserialize, Serialize};

/// A named row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preset {
    /// a row of a head of a language model
    #[default]
    RealHead,
    /// all scores alike
    Equal,
    /// one score above the others
    Spike,
    /// two levels
    Plateaus,
    /// equal steps
    Ramp,
    /// differences of hundreds
    Huge,
    /// differences of a few units in the last place of f32
    NearTies,
    /// nodes at irregular times, two of them together
    Irregular,
}

/// The row of the first screen: one whose strongest key stands alone between weak ones, so that a curve read at its
/// samples and a curve that is integrated disagree most.
pub const SHOWN: Head = Head { layer: 1, head: 7, query: 12 };

impl Preset {
    /// Every preset, in the order of the menu.
    pub const ALL: [Preset; 8] = [
        Preset::RealHead,
        Preset::Equal,
        Preset::Spike,
        Preset::Plateaus,
        Preset::Ramp,
        Preset::Huge,
        Preset::NearTies,
        Preset::Irregular,
    ];

    /// Its name in menus.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::RealHead => "a real head's row",
            Preset::Equal => "equal scores",
            Preset::Spike => "a spike",
            Preset::Plateaus => "two plateaus",
            Preset::Ramp => "a ramp",
            Preset::Huge => "huge differences",
            Preset::NearTies => "near ties",
            Preset::Irregular => "irregular times",
        }
    }

    /// What it shows.
    pub const fn hint(self) -> &'static str {
        match self {
            Preset::RealHead => {
                "a language model's own scores: softmax reads its peaks as points, the integral as a curve"
            }
            Preset::Equal => "inside b is 0 and the two agree; the ends have half a hat, b = -log 2",
            Preset::Spike => "a lone peak loses weight to its neighbours: b is about the second difference over 6",
            Preset::Plateaus => "inside a plateau nothing changes; at its border the weights lean over the step",
            Preset::Ramp => "equal steps: the second difference is 0, so what is left of b is second order",
            Preset::Huge => "differences of hundreds: where naive formulas overflow or give NaN",
            Preset::NearTies => "differences of some units in the last place: where naive formulas cancel",
            Preset::Irregular => "durations differ: softmax counts nodes, the integral measures time",
        }
    }

    /// The row.
    pub fn row(self) -> Row {
        let scores: Vec<f64> = match self {
            Preset::RealHead => {
                // The carried heads fit together; a test makes every preset.
                let row = row_of_head(&Source::carried(), SHOWN);
                return row.unwrap_or_else(|_| Preset::Spike.row());
            }
            Preset::Equal => vec![0.0; 9],
            Preset::Spike => vec![0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0],
            Preset::Plateaus => vec![0.0, 0.0, 0.0, 0.0, 2.5, 2.5, 2.5, 2.5, 0.0, 0.0, 0.0, 0.0],
            Preset::Ramp => (0..10).map(|i| 0.75 * f64::from(i)).collect(),
            Preset::Huge => vec![0.0, 300.0, -200.0, 299.5, 800.0, -1000.0, 799.0, 0.0],
            // Odd multiples of 2^-22: f32 holds numbers from 1 to 2 in steps of 2^-23.
            Preset::NearTies => (0..9).map(|i| 1.5 + f64::from((i * 5) % 7) * 2f64.powi(-22)).collect(),
            Preset::Irregular => vec![0.0, 1.0, 2.0, 1.25, 0.25, 2.5, 0.5, 1.5, 0.0],
        };
        let n = scores.len();
        let times = match self {
            Preset::Irregular => vec![0.0, 0.5, 2.5, 2.75, 3.0, 5.5, 5.5, 7.0, 8.0],
            _ => (0..n).map(|i| i as f64).collect(),
        };
        // Values that tell positions apart: a slow wave.
        let values = (0..n).map(|i| f64::from(((i as f64 * 0.8).sin() * 64.0).round() as i32) / 64.0).collect();
        let origin = Origin::Preset(self.name().to_owned());
        Row { times, keys: scores, values, query: 1.0, origin, edited: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_row() {
        for preset in Preset::ALL {
            let row = preset.row();
            assert!(row.check().is_ok(), "{preset:?}");
        }
        assert!(matches!(Preset::RealHead.row().origin, Origin::Head(_)));
        let ties = Preset::NearTies.row();
        assert!(ties.keys.iter().all(|&k| f64::from(k as f32) == k) && ties.keys[0] != ties.keys[1]);
    }
}
