//! One run of a theorem: its instances, comparisons and what came of them.

use super::numbers::Numbers;
use super::plant::{Plant, Side, Which};
use super::symbolic::Laurent;
use super::{Effort, Measured, Sides};
use crate::enclosure::Enclosure;
use contattn_core::Monitor;
use rug::Float;
use std::cell::{RefCell, RefMut};
use std::collections::BTreeSet;
use std::fmt;

/// What has come of a run so far.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) constants: BTreeSet<Plant>,
    pub(super) instances: u64,
    pub(super) comparisons: u64,
    /// log2 of the widest relative width; -inf where all were exact
    pub(super) widest: f64,
    /// whether the identities over the rationals hold; `None` where there are none
    pub(super) exact: Option<bool>,
    pub(super) measured: Vec<Measured>,
    /// both sides of the first comparison of some instances
    pub(super) sides: Vec<Sides>,
    /// the first thing that failed
    pub(super) failure: Option<String>,
    pub(super) cancelled: bool,
    label: String,
}

/// Instances of which both sides are kept, to be shown.
const SHOWN: usize = 8;

/// A run.
pub(super) struct Trial<'m> {
    effort: Effort,
    plant: Option<Plant>,
    monitor: &'m dyn Monitor,
    numbers: RefCell<Numbers>,
    log: RefCell<Log>,
}

impl<'m> Trial<'m> {
    pub(super) fn new(name: &str, effort: Effort, plant: Option<Plant>, monitor: &'m dyn Monitor) -> Trial<'m> {
        let log = Log {
            constants: BTreeSet::new(),
            instances: 0,
            comparisons: 0,
            widest: f64::NEG_INFINITY,
            exact: None,
            measured: Vec::new(),
            sides: Vec::new(),
            failure: None,
            cancelled: false,
            label: String::new(),
        };
        Trial { effort, plant, monitor, numbers: RefCell::new(Numbers::of(name)), log: RefCell::new(log) }
    }

    pub(super) fn into_log(self) -> Log {
        self.log.into_inner()
    }

    /// Working precision.
    pub(super) fn precision(&self) -> u32 {
        self.effort.precision + self.effort.guard
    }

    /// How narrow enclosures must be.
    pub(super) fn width_bits(&self) -> u32 {
        self.effort.width_bits
    }

    /// How many instances are drawn at random, besides those that are given.
    pub(super) fn rounds(&self) -> usize {
        self.effort.rounds as usize
    }

    pub(super) fn numbers(&self) -> RefMut<'_, Numbers> {
        self.numbers.borrow_mut()
    }

    pub(super) fn left(&self) -> Side<'_> {
        Side::new(self, Which::Left)
    }

    pub(super) fn right(&self) -> Side<'_> {
        Side::new(self, Which::Right)
    }

    /// Notes that a side has this constant; whether it is to be wrong.
    pub(super) fn meets(&self, constant: Plant) -> bool {
        self.log.borrow_mut().constants.insert(constant);
        self.plant == Some(constant)
    }

    /// Begins an instance; false where there is no point in going on.
    pub(super) fn begin(&self, label: impl fmt::Display) -> bool {
        let mut log = self.log.borrow_mut();
        log.cancelled |= self.monitor.is_cancelled();
        if log.cancelled || log.failure.is_some() {
            return false;
        }
        log.instances += 1;
        log.label = label.to_string();
        true
    }

    pub(super) fn fail(&self, what: fmt::Arguments<'_>) {
        let mut log = self.log.borrow_mut();
        if log.failure.is_none() {
            log.failure = Some(format!("{}: {what}", log.label));
        }
    }

    /// Both sides enclose one number, narrowly beside their own size.
    pub(super) fn equal(&self, what: &str, left: &Enclosure, right: &Enclosure) {
        let width = |x: &Enclosure| log2(&x.relative_width());
        self.compare(what, left, right, width(left).max(width(right)));
    }

    /// Both sides enclose one number, narrowly beside a positive size: for results that may be 0 or nearly so.
    pub(super) fn equal_beside(&self, what: &str, left: &Enclosure, right: &Enclosure, size: &Enclosure) {
        let width = |x: &Enclosure| {
            if x.is_bounded() { 1.0 + log2(&x.radius()) - log2(size.lower()) } else { f64::INFINITY }
        };
        self.compare(what, left, right, width(left).max(width(right)));
    }

    fn compare(&self, what: &str, left: &Enclosure, right: &Enclosure, width: f64) {
        {
            let mut log = self.log.borrow_mut();
            log.comparisons += 1;
            log.widest = log.widest.max(width);
            let is_first = log.sides.last().is_none_or(|sides| sides.instance != log.label);
            if is_first && log.sides.len() < SHOWN {
                let (instance, what) = (log.label.clone(), what.to_owned());
                log.sides.push(Sides { instance, what, left: left.to_string(), right: right.to_string() });
            }
        }
        if !left.overlaps(right) {
            self.fail(format_args!("{what}: {left:?} on the left, {right:?} on the right"));
        } else if width > -f64::from(self.effort.width_bits) {
            self.fail(format_args!("{what}: known to a relative width of 2^{width:.1} only"));
        }
    }

    /// The enclosure lies in [0, inf).
    pub(super) fn not_negative(&self, what: &str, x: &Enclosure) {
        self.log.borrow_mut().comparisons += 1;
        if x.certain_sign().is_none_or(std::cmp::Ordering::is_lt) {
            self.fail(format_args!("{what}: {x:?} is not known to be at least 0"));
        }
    }

    /// Something that is decided exactly.
    pub(super) fn holds(&self, what: &str, holds: bool) {
        self.log.borrow_mut().comparisons += 1;
        if !holds {
            self.fail(format_args!("{what}: does not hold"));
        }
    }

    /// Both sides are one element of the ring: a proof over the rationals.
    pub(super) fn identity(&self, what: &str, left: &Laurent, right: &Laurent) {
        let holds = left.minus(right).is_zero();
        {
            let mut log = self.log.borrow_mut();
            log.comparisons += 1;
            log.exact = Some(log.exact.unwrap_or(true) && holds);
        }
        if !holds {
            self.fail(format_args!("{what}: not an identity over the rationals"));
        }
    }

    /// A measured number lies in its band.
    pub(super) fn measured(&self, what: &str, value: f64, band: [f64; 2]) {
        {
            let mut log = self.log.borrow_mut();
            log.comparisons += 1;
            let [from, to] = band;
            let what = format!("{}: {what}", log.label);
            log.measured.push(Measured { what, value, from, to });
        }
        if !(band[0] <= value && value <= band[1]) {
            self.fail(format_args!("{what}: measured {value}, expected {band:?}"));
        }
    }
}

/// log2 of a number that is not negative, also out of the range of f64.
pub(super) fn log2(x: &Float) -> f64 {
    if x.is_zero() {
        return f64::NEG_INFINITY;
    }
    if !x.is_finite() {
        return f64::INFINITY;
    }
    let (mantissa, exponent) = x.to_f64_exp();
    mantissa.abs().log2() + f64::from(exponent)
}
