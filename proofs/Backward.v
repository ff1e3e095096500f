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

(** ** Durations *)

Lemma loss_ext (p p' : nat -> shares) b b' f f' y g_lse n :
  (forall i, (i < n)%nat -> p i = p' i) -> b = b' -> f = f' ->
  loss p b f y g_lse n = loss p' b' f' y g_lse n.
Proof.
  intros H -> ->. unfold loss, numerator, denominator.
  rewrite (sum_ext (fun i => left (p i) * y i + right (p i) * y (S i))
    (fun i => left (p' i) * y i + right (p' i) * y (S i))) by (intros; now rewrite H).
  rewrite (sum_ext (fun i => mass (p i)) (fun i => mass (p' i))) by (intros; now rewrite H).
  reflexivity.
Qed.

(** Times whose durations are D + x E: node 0 stays, every later node moves with the durations
    before it. *)
Definition moved (tau E : nat -> R) (x : R) (j : nat) : R := tau j + x * sum E j.
Lemma moved_duration tau E x i : duration (moved tau E x) i = along (duration tau) E x i.
Proof. unfold duration, moved, along. simpl sum. unfold duration. ring. Qed.

Lemma moved_increasing tau E n : increasing tau n ->
  locally 0 (fun x => increasing (moved tau E x) n).
Proof.
  intros I.
  assert (G : forall m, (m <= n)%nat -> locally 0 (fun x => increasing (moved tau E x) m)).
  { induction m; intros Hm.
    - apply filter_forall. intros x i Hi. lia.
    - assert (L : locally 0 (fun x => 0 < duration tau m + x * E m)).
      { assert (C : cts (fun x => duration tau m + x * E m)) by cts.
        apply (C 0 (fun y => 0 < y)). apply (open_gt 0).
        unfold duration. pose proof (I m ltac:(lia)). lra. }
      generalize (filter_and (F := locally (0 : R)) _ _ (IHm ltac:(lia)) L). apply filter_imp. intros x [H0 H1] i Hi.
      destruct (Nat.eq_dec i m) as [->|N]; [|apply H0; lia].
      pose proof (moved_duration tau E x m) as D. unfold duration at 1, along in D. lra. }
  now apply G.
Qed.

Lemma linear_duration_linear : duration_linear linear.
Proof. intros D a0 a1. unfold linear. cbn [left right]. split; ring. Qed.

Lemma full_window_loss tau n m g V g_lse a : increasing tau n -> (0 < n)%nat ->
  integral_loss tau n (tau 0%nat) (tau n) m g V g_lse a
  = line_loss (fun _ => linear) (duration tau) 0 0 n a (fun i => dot m g (V i)) g_lse.
Proof.
  intros I L. pose proof (increasing_timeline _ _ I) as T.
  pose proof (timeline_le tau n 0 n T ltac:(lia) ltac:(lia)).
  rewrite integral_loss_line by auto. unfold line_loss. apply loss_ext.
  - intros i Hi. exact (visible_full tau a n i T Hi).
  - rewrite clip_id by lra. ring.
  - rewrite clip_id by lra. ring.
Qed.

(** [gradient] dL/dD_i = l_i G_{i-1} + r_i G_i for the integrals of (2) over the whole line: along any
    direction E of the durations (all positive), later nodes moving with them. *)
Theorem attention_gradient_durations tau E n m g V g_lse a : increasing tau n -> (0 < n)%nat ->
  let G := line_adjoint (fun _ => linear) (duration tau) 0 0 n a (fun i => dot m g (V i)) g_lse in
  is_derive (fun x => integral_loss (moved tau E x) n (moved tau E x 0%nat) (moved tau E x n)
                        m g V g_lse a) 0
    (sum (fun i => E i * (left (linear 1 (a i) (a (S i))) * G i
                          + right (linear 1 (a i) (a (S i))) * G (S i))) n).
Proof.
  intros I L G.
  assert (A0 : along (duration tau) E 0 = duration tau).
  { apply FunctionalExtensionality.functional_extensionality. intros i. unfold along. ring. }
  apply (is_derive_ext_loc (V := R_NormedModule)
    (fun x => line_loss (fun _ => linear) (along (duration tau) E x) 0 0 n a (fun i => dot m g (V i)) g_lse)).
  - generalize (moved_increasing tau E n I). apply filter_imp. intros x Hx.
    rewrite full_window_loss by auto. unfold line_loss. apply loss_ext; auto.
    intros i Hi. unfold line_shares. now rewrite moved_duration.
  - pose proof (gradient_durations (fun _ => linear) (duration tau) E 0 0 n a (fun i => dot m g (V i))
      g_lse 0 (fun _ _ => linear_duration_linear)) as D.
    rewrite A0 in D. apply D.
    pose proof (increasing_timeline _ _ I) as T.
    pose proof (timeline_le tau n 0 1 T ltac:(lia) ltac:(lia)). pose proof (I 0%nat L).
    pose proof (timeline_le tau n 1 n T ltac:(lia) ltac:(lia)).
    pose proof (Z_pos tau a n (tau 0%nat) (tau n) T ltac:(lra)) as ZP.
    rewrite <- window_line_total in ZP. unfold line_total, denominator in *.
    rewrite (sum_ext _ (fun i => mass (line_shares (fun _ => linear) (duration tau) a i))) in ZP.
    + rewrite !clip_id in ZP by lra.
      replace (tau 0%nat - tau 0%nat) with 0 in ZP by ring. replace (tau n - tau n) with 0 in ZP by ring.
      exact ZP.
    + intros i Hi. f_equal. exact (visible_full tau a n i T Hi).
Qed.
