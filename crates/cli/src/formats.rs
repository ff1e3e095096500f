//! `contattn formats`: files, shapes and layouts in one page.

use crate::exit::Exit;
use crate::print;
use std::process::ExitCode;

/// Explains tensor files, element types, shapes and layouts.
#[derive(Debug, clap::Args)]
#[command(long_about = TEXT)]
pub(crate) struct Args {}

/// The page.
const TEXT: &str = "\
Tensor files, element types, shapes and layouts.

A TENSOR IN A FILE is written
  file.npy                  one array, as numpy.save writes it
  file.npz:name             an array of an archive, as numpy.savez writes it
  file.safetensors:name     a tensor of a safetensors file
The name may be left out where a file holds one tensor. The extension tells the format. In a file
to be written the name may be left out too: o, lse, weights, bias, dq, dk, dv, dsink_k, dsink_v
and ddurations go by their own names. Outputs that name the same .npz or .safetensors file are
written into it together. A file that exists is replaced as a whole, never added to, and only when
the new one is complete.

ELEMENT TYPES of q, k, v and upstream gradients: f64, f32, f16, bf16. bf16 is held by .safetensors
only. Durations, times and edges may be any of these or integers; each number is taken exactly.
Masks are booleans, or integers 0 and 1. Documents are integers.

SHAPES, with --layout bhsd (the default):
  q                   (batch, heads, queries, head_dim)
  k                   (batch, kv_heads, n, head_dim)        kv_heads divides heads
  v                   (batch, kv_heads, n, value_width)
  o, --do             (batch, heads, queries, value_width)
  lse, --dlse         (batch, heads, queries)
  weights, bias       (batch, heads, queries, n + 1)        column 0 is the sink
  durations, mask, documents                      (n)       or (batch, n)
  times                                           (n + 1)   or (batch, n + 1)
  query times, lower and upper edges, query documents
                                                  (queries) or (batch, queries)
With --layout bshd, q, k, v, o and their gradients are (batch, sequence, heads, width) instead.
A tensor of three axes is one batch: (heads, sequence, width), or (sequence, heads, width) with
bshd. A tensor of two axes is one head: (sequence, width). Results have as many axes as the input
that they belong to: o, lse, weights and bias follow q, and dk follows k.

With --sink given, the first row of k and v is node 0, the sink, and n is one less than their rows;
dk and dv then have the sink's row first as well.
";

/// Prints the page.
///
/// # Errors
/// Where stdout cannot be written.
pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    print::text(TEXT)?;
    Ok(Exit::Success.into())
}
