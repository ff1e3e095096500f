(** * Backward: the gradient of attention by scores, queries, keys and values

    The formulas of Gradient.v, stated for the integrals of (2) over a window:
    the loss is g.o + g_lse log Z with o and Z as in Attention.v. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment SegmentDerivatives Sums Curve Attention Gradient.
Open Scope R_scope.

(** The visible line of a window is such a line. *)
Definition window_rule (tau : nat -> R) (lo hi : R) (i : nat) : rule :=
  cut linear (enter tau lo hi i) (leave tau lo hi i).
Lemma window_line_mass tau a n lo hi i :
  line_mass (window_rule tau lo hi) (duration tau) (clip lo hi (tau 0%nat) - lo)
    (hi - clip lo hi (tau n)) n a i = P tau a n lo hi i.
Proof. reflexivity. Qed.
Lemma window_line_total tau a n lo hi :
  line_total (window_rule tau lo hi) (duration tau) (clip lo hi (tau 0%nat) - lo)
    (hi - clip lo hi (tau n)) n a = Z tau a n lo hi.
Proof. symmetry. apply node_mass_total. Qed.

(** The loss g.o + g_lse log Z of a query with scores a, written with the integrals of (2). *)
Definition integral_loss (tau : nat -> R) (n : nat) (lo hi : R) (m : nat) (g : nat -> R)
    (V : nat -> nat -> R) (g_lse : R) (a : nat -> R) : R :=
  dot m g (fun c => RInt (fun s => exp (curve tau a n s) * curve tau (fun i => V i c) n s) lo hi
                    / RInt (fun s => exp (curve tau a n s)) lo hi)
  + g_lse * ln (RInt (fun s => exp (curve tau a n s)) lo hi).
(** dL/da_i of that loss. *)
Definition window_gradient (tau : nat -> R) (n : nat) (lo hi : R) (m : nat) (g : nat -> R)
    (V : nat -> nat -> R) (g_lse : R) (a : nat -> R) (i : nat) : R :=
  score_gradient (window_rule tau lo hi) (duration tau) (clip lo hi (tau 0%nat) - lo)
    (hi - clip lo hi (tau n)) n a (fun i => dot m g (V i)) g_lse i.

Lemma integral_loss_line tau n lo hi m g V g_lse a : timeline tau n -> lo <= hi ->
  integral_loss tau n lo hi m g V g_lse a =
  line_loss (window_rule tau lo hi) (duration tau) (clip lo hi (tau 0%nat) - lo)
    (hi - clip lo hi (tau n)) n a (fun i => dot m g (V i)) g_lse.
Proof.
  intros T W. unfold integral_loss, line_loss, loss.
  pose proof (window_line_total tau a n lo hi) as HT. unfold line_total in HT. rewrite !HT.
  rewrite (is_RInt_value _ _ _ _ (eq9_denominator tau a n lo hi T W)). f_equal.
  rewrite numerator_nodes.
  change (node_mass _ _ _ n) with (P tau a n lo hi). unfold dot.
  rewrite (sum_ext _ (fun c => / Z tau a n lo hi * (sum (fun i => P tau a n lo hi i * (g c * V i c)) (S n)))).
  - rewrite sum_scal, sum_swap.
    rewrite (sum_ext _ (fun i => P tau a n lo hi i * sum (fun c => g c * V i c) m))
      by (intros; now rewrite sum_scal).
    unfold Rdiv. ring.
  - intros c _. rewrite (is_RInt_value _ _ _ _ (eq9_numerator tau a (fun i => V i c) n lo hi T W)).
    rewrite (sum_ext (fun i => P tau a n lo hi i * (g c * V i c))
      (fun i => g c * (P tau a n lo hi i * V i c))) by (intros; ring).
    rewrite sum_scal. unfold Rdiv. ring.
Qed.

(** [gradient] The gradient of g.o + g_lse log Z, with o and Z the integrals of (2), along any
    direction of the scores. *)
Theorem attention_gradient_scores tau n lo hi m g V g_lse a e x : timeline tau n -> lo < hi ->
  is_derive (fun t => integral_loss tau n lo hi m g V g_lse (along a e t)) x
    (sum (fun i => e i * window_gradient tau n lo hi m g V g_lse (along a e x) i) (S n)).
Proof.
  intros T W.
  apply (is_derive_ext_R (fun t => line_loss (window_rule tau lo hi) (duration tau)
    (clip lo hi (tau 0%nat) - lo) (hi - clip lo hi (tau n)) n (along a e t)
    (fun i => dot m g (V i)) g_lse)).
  { intros t. symmetry. apply integral_loss_line; [exact T | lra]. }
  apply gradient_scores.
  - intros j _. apply linear_score_derivatives.
  - rewrite window_line_total. now apply Z_pos.
Qed.

(** The score of node i when component c of the query moves ... *)
Lemma score_move_query scale d q K c t i : (c < d)%nat ->
  score scale d (fun e => q e + t * delta c e) K i
  = along (score scale d q K) (fun i => scale * K i c) t i.
Proof.
  intros L. unfold score, along, dot.
  rewrite (sum_ext _ (fun e => q e * K i e + t * (K i e * delta c e))) by (intros; ring).
  rewrite sum_plus, sum_scal, sum_delta by exact L. ring.
Qed.
(** ... and when component c of the keys of the nodes with mark u j = 1 moves. *)
Lemma score_move_key scale d q K c t (u : nat -> R) i : (c < d)%nat ->
  score scale d q (fun j e => K j e + t * (u j * delta c e)) i
  = along (score scale d q K) (fun i => scale * q c * u i) t i.
Proof.
  intros L. unfold score, along, dot.
  rewrite (sum_ext _ (fun e => q e * K i e + t * u i * (q e * delta c e))) by (intros; ring).
  rewrite sum_plus, sum_scal, sum_delta by exact L. ring.
Qed.

Lemma integral_loss_ext tau n lo hi m g V g_lse a b : (forall i, a i = b i) ->
  integral_loss tau n lo hi m g V g_lse a = integral_loss tau n lo hi m g V g_lse b.
Proof.
  intros E. assert (C : forall s, curve tau a n s = curve tau b n s)
    by (intros; now apply curve_ext).
  unfold integral_loss. f_equal.
  - apply sum_ext. intros c _. f_equal. unfold Rdiv; apply f_equal2; [|apply f_equal];
      apply RInt_ext_R; intros s; now rewrite C.
  - do 2 f_equal. apply RInt_ext_R. intros s. now rewrite C.
Qed.

(** [gradient] dL/dq_c = sum_i dL/da_i scale K_ic, with o and Z the integrals of (2). *)
Theorem attention_gradient_query tau n lo hi m g V g_lse scale d q K c : timeline tau n -> lo < hi ->
  (c < d)%nat ->
  is_derive (fun t => integral_loss tau n lo hi m g V g_lse
                        (score scale d (fun e => q e + t * delta c e) K)) 0
    (sum (fun i => scale * K i c
                   * window_gradient tau n lo hi m g V g_lse (score scale d q K) i) (S n)).
Proof.
  intros T W L.
  apply (is_derive_ext_R (fun t => integral_loss tau n lo hi m g V g_lse
    (along (score scale d q K) (fun i => scale * K i c) t))).
  { intros t. apply integral_loss_ext. intros i. symmetry. now apply score_move_query. }
  apply (is_derive_eq _ _ _ _ (attention_gradient_scores tau n lo hi m g V g_lse
    (score scale d q K) (fun i => scale * K i c) 0 T W)).
  assert (E : along (score scale d q K) (fun i => scale * K i c) 0 = score scale d q K).
  { apply FunctionalExtensionality.functional_extensionality. intros i. unfold along. ring. }
  now rewrite E.
Qed.

(** [gradient] dL/dk_jc = dL/da_j scale q_c; nodes that share a key (a sink that copies the
    first node) add their parts. *)
Theorem attention_gradient_key tau n lo hi m g V g_lse scale d q K c (u : nat -> R) :
  timeline tau n -> lo < hi -> (c < d)%nat ->
  is_derive (fun t => integral_loss tau n lo hi m g V g_lse
                        (score scale d q (fun j e => K j e + t * (u j * delta c e)))) 0
    (sum (fun i => scale * q c * u i
                   * window_gradient tau n lo hi m g V g_lse (score scale d q K) i) (S n)).
Proof.
  intros T W L.
  apply (is_derive_ext_R (fun t => integral_loss tau n lo hi m g V g_lse
    (along (score scale d q K) (fun i => scale * q c * u i) t))).
  { intros t. apply integral_loss_ext. intros i. symmetry. now apply score_move_key. }
  apply (is_derive_eq _ _ _ _ (attention_gradient_scores tau n lo hi m g V g_lse
    (score scale d q K) (fun i => scale * q c * u i) 0 T W)).
  assert (E : along (score scale d q K) (fun i => scale * q c * u i) 0 = score scale d q K).
  { apply FunctionalExtensionality.functional_extensionality. intros i. unfold along. ring. }
  now rewrite E.
Qed.

(** [gradient] dL/dv_jc = w_j g_c. *)
Theorem attention_gradient_value scale d q K V tau n lo hi m (g : nat -> R) c j x :
  timeline tau n -> lo < hi -> (c < m)%nat -> (j <= n)%nat ->
  is_derive (fun t => dot m g (attention scale d q K
      (fun i e => V i e + t * (delta j i * delta c e)) tau n lo hi)) x
    (weight tau (score scale d q K) n lo hi j * g c).
Proof.
  intros T W L Hj. set (w := weight tau (score scale d q K) n lo hi).
  apply (is_derive_ext_R (fun t => dot m g (fun e => sum (fun i => w i * V i e) (S n)) + t * (w j * g c))).
  - intros t. unfold dot.
    rewrite (sum_ext (fun e => g e * attention scale d q K
        (fun i e => V i e + t * (delta j i * delta c e)) tau n lo hi e)
      (fun e => g e * sum (fun i => w i * V i e) (S n) + (t * w j) * (g e * delta c e))).
    + rewrite sum_plus, sum_scal, sum_delta by exact L. ring.
    + intros e _. rewrite attention_weights by (auto; lra). fold w.
      rewrite (sum_ext _ (fun i => w i * V i e + (t * delta c e) * (w i * delta j i)))
        by (intros; ring).
      rewrite sum_plus, sum_scal, sum_delta by lia. ring.
  - deriv.
Qed.
