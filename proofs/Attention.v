(** * Attention: continuous softmax attention on any time line and window

    The operator is the quotient of two integrals over a window [lo, hi]
    (equation (2)).  This file proves that it is a weighted mean of the nodes'
    values, with the weights that the rules of Segment.v give, for any
    durations >= 0 and any window: equations (2), (8), (9), (10), (11).
    Uniform.v specialises them to the unit time line. *)

From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums Curve.
Open Scope R_scope.

(** ** From segments to nodes: the rearrangement (9), for any rule *)

(** Node i collects the right share of the segment before it and the left share
    of the segment after it; [before] and [after] are what the held parts give
    to the first and the last node. *)
Definition from_left (p : nat -> shares) (before : R) (i : nat) : R :=
  match i with O => before | S j => right (p j) end.
Definition from_right (p : nat -> shares) (after : R) (n i : nat) : R :=
  if Nat.eqb i n then after else left (p i).
Definition node_mass (p : nat -> shares) (before after : R) (n i : nat) : R :=
  from_left p before i + from_right p after n i.

(** [(9)] For any rule: the sum of L_i v_{i-1} + R_i v_i over segments, with held parts, is the
    sum of P_i v_i over nodes. *)
Theorem eq9_rearrange p before after n (v : nat -> R) :
  before * v 0%nat + sum (fun i => left (p i) * v i + right (p i) * v (S i)) n + after * v n
  = sum (fun i => node_mass p before after n i * v i) (S n).
Proof.
  rewrite sum_plus. unfold node_mass.
  rewrite (sum_ext (fun i => (from_left p before i + from_right p after n i) * v i)
    (fun i => from_left p before i * v i + from_right p after n i * v i)) by (intros; ring).
  rewrite sum_plus, (sum_first (fun i => from_left p before i * v i)),
    (sum_S (fun i => from_right p after n i * v i)).
  rewrite (sum_ext (fun i => from_right p after n i * v i) (fun i => left (p i) * v i)).
  - unfold from_right. rewrite Nat.eqb_refl. simpl from_left. ring.
  - intros i Hi. unfold from_right. replace (Nat.eqb i n) with false; auto.
    symmetry. apply Nat.eqb_neq. lia.
Qed.
Lemma node_mass_total p before after n :
  sum (node_mass p before after n) (S n) = before + sum (fun i => mass (p i)) n + after.
Proof.
  rewrite (sum_ext _ (fun i => node_mass p before after n i * 1)) by (intros; ring).
  rewrite <- (eq9_rearrange p before after n (fun _ => 1)), !Rmult_1_r.
  f_equal. f_equal. apply sum_ext. intros. unfold mass. ring.
Qed.

(** ** The operator *)

(** Shares of the visible part of segment i under the Linear rule. *)
Definition visible (tau a : nat -> R) (lo hi : R) (i : nat) : shares :=
  cut linear (enter tau lo hi i) (leave tau lo hi i) (duration tau i) (a i) (a (S i)).
(** What the held parts of the curve give to the first and the last node. *)
Definition held_before (tau a : nat -> R) (lo hi : R) : R :=
  (clip lo hi (tau 0%nat) - lo) * exp (a 0%nat).
Definition held_after (tau a : nat -> R) (n : nat) (lo hi : R) : R :=
  (hi - clip lo hi (tau n)) * exp (a n).
(** P_i, the mass of node i, and Z, the mass of all. *)
Definition P (tau a : nat -> R) (n : nat) (lo hi : R) (i : nat) : R :=
  node_mass (visible tau a lo hi) (held_before tau a lo hi) (held_after tau a n lo hi) n i.
Definition Z (tau a : nat -> R) (n : nat) (lo hi : R) : R := sum (P tau a n lo hi) (S n).
(** The numerator over nodes, component c. *)
Definition sum_PV (tau a : nat -> R) (V : nat -> nat -> R) (n : nat) (lo hi : R) (c : nat) : R :=
  sum (fun i => P tau a n lo hi i * V i c) (S n).
(** The weight of node i. *)
Definition weight (tau a : nat -> R) (n : nat) (lo hi : R) (i : nat) : R :=
  P tau a n lo hi i / Z tau a n lo hi.

(** (2): continuous softmax attention over the window [lo, hi], component c of
    the output; d is the dimension of queries and keys, K i e and V i c are
    components of node i. *)
Definition attention (scale : R) (d : nat) (q : nat -> R) (K V : nat -> nat -> R)
    (tau : nat -> R) (n : nat) (lo hi : R) (c : nat) : R :=
  RInt (fun s => exp (scale * dot d q (fun e => curve tau (fun i => K i e) n s))
                 * curve tau (fun i => V i c) n s) lo hi
  / RInt (fun s => exp (scale * dot d q (fun e => curve tau (fun i => K i e) n s))) lo hi.
(** The score of node i. *)
Definition score (scale : R) (d : nat) (q : nat -> R) (K : nat -> nat -> R) (i : nat) : R :=
  scale * dot d q (K i).

(** [(8)] The numerator of (2) over any window is the sum of L v + R v over the visible parts
    of segments, plus the held parts. *)
Theorem eq8_numerator tau a v n lo hi : timeline tau n -> lo <= hi ->
  is_RInt (fun s => exp (curve tau a n s) * curve tau v n s) lo hi
    (held_before tau a lo hi * v 0%nat
     + sum (fun i => left (visible tau a lo hi i) * v i + right (visible tau a lo hi i) * v (S i)) n
     + held_after tau a n lo hi * v n).
Proof.
  intros T W.
  pose proof (piecewise_integral tau n lo hi (fun s => exp (curve tau a n s) * curve tau v n s)
    (fun i r => exp (lerp (a i) (a (S i)) r) * lerp (v i) (v (S i)) r)
    (exp (a 0%nat) * v 0%nat) (exp (a n) * v n) T W) as I.
  eapply is_RInt_eq; [apply I|].
  - intros i _. apply cts_moment, cts_lerp.
  - intros i s Hi Hs. rewrite !(eq3_curve tau _ n i s T Hi) by lra. reflexivity.
  - intros s Hs. now rewrite !curve_before.
  - intros s Hs. now rewrite !curve_after by lra.
  - unfold held_before, held_after. rewrite !Rmult_assoc. f_equal. f_equal.
    apply sum_ext. intros i Hi. unfold visible. rewrite <- linear_cut_value. reflexivity.
Qed.

(** [(8)] The denominator of (2) over any window is the sum of the masses of the visible parts,
    plus the held parts. *)
Theorem eq8_denominator tau a n lo hi : timeline tau n -> lo <= hi ->
  is_RInt (fun s => exp (curve tau a n s)) lo hi
    (held_before tau a lo hi + sum (fun i => mass (visible tau a lo hi i)) n
     + held_after tau a n lo hi).
Proof.
  intros T W.
  apply (is_RInt_ext_R (fun s => exp (curve tau a n s) * curve tau (fun _ => 1) n s)).
  { intros s _. rewrite curve_const. ring. }
  apply (is_RInt_eq _ _ _ _ _ (eq8_numerator tau a (fun _ => 1) n lo hi T W)).
  rewrite !Rmult_1_r. f_equal. f_equal. apply sum_ext. intros. unfold mass. ring.
Qed.

(** [(9)] The numerator of (2) is the sum of P_i v_i over nodes. *)
Theorem eq9_numerator tau a v n lo hi : timeline tau n -> lo <= hi ->
  is_RInt (fun s => exp (curve tau a n s) * curve tau v n s) lo hi
    (sum (fun i => P tau a n lo hi i * v i) (S n)).
Proof.
  intros T W. apply (is_RInt_eq _ _ _ _ _ (eq8_numerator tau a v n lo hi T W)).
  apply eq9_rearrange.
Qed.

(** [(9)] The denominator of (2) is Z, the sum of P_i over nodes. *)
Theorem eq9_denominator tau a n lo hi : timeline tau n -> lo <= hi ->
  is_RInt (fun s => exp (curve tau a n s)) lo hi (Z tau a n lo hi).
Proof.
  intros T W. apply (is_RInt_eq _ _ _ _ _ (eq8_denominator tau a n lo hi T W)).
  symmetry. apply node_mass_total.
Qed.

(** The exponent in (2) is the curve of the scores; the attention output written with it. *)
Lemma curve_of_scores scale d q K tau n s :
  scale * dot d q (fun e => curve tau (fun i => K i e) n s) = curve tau (score scale d q K) n s.
Proof.
  rewrite score_of_curve. unfold score.
  rewrite (curve_ext tau (fun i => scale * dot d q (K i))
    (fun i => scale * dot d q (K i) + 0 * 0)) by (intros; ring).
  rewrite (curve_lin tau (fun i => dot d q (K i)) (fun _ => 0)). ring.
Qed.
Lemma attention_scores scale d q K V tau n lo hi c :
  attention scale d q K V tau n lo hi c =
  RInt (fun s => exp (curve tau (score scale d q K) n s) * curve tau (fun i => V i c) n s) lo hi
  / RInt (fun s => exp (curve tau (score scale d q K) n s)) lo hi.
Proof.
  unfold attention. unfold Rdiv; apply f_equal2; [|apply f_equal]; apply RInt_ext_R; intros s; now rewrite curve_of_scores.
Qed.

(** [(11)] o = sum_i P_i v_i / sum_i P_i for vector keys and values, any durations >= 0 and any
    window. *)
Theorem attention_nodes scale d q K V tau n lo hi c : timeline tau n -> lo <= hi ->
  attention scale d q K V tau n lo hi c =
  sum (fun i => P tau (score scale d q K) n lo hi i * V i c) (S n)
  / sum (P tau (score scale d q K) n lo hi) (S n).
Proof.
  intros T W. rewrite attention_scores.
  rewrite (is_RInt_value _ _ _ _ (eq9_numerator tau (score scale d q K) (fun i => V i c) n lo hi T W)).
  rewrite (is_RInt_value _ _ _ _ (eq9_denominator tau (score scale d q K) n lo hi T W)).
  reflexivity.
Qed.

(** ** Signs of the masses; the weights are a convex combination *)

Lemma visible_nonneg tau a lo hi i : tau i <= tau (S i) ->
  0 <= left (visible tau a lo hi i) /\ 0 <= right (visible tau a lo hi i)
  /\ 0 <= coupling (visible tau a lo hi i).
Proof.
  intros H. unfold visible.
  destruct (clip_mono lo hi _ _ H) as [C|C].
  - destruct (enter_leave_range tau lo hi i H C) as (HD & H0 & HL & H1).
    apply linear_cut_nonneg; lra.
  - rewrite (enter_leave_empty tau lo hi i C), linear_cut_integral. cbn [left right coupling].
    unfold moment. rewrite !RInt_point_R. lra.
Qed.
Lemma visible_pos tau a lo hi i : tau i <= tau (S i) ->
  clip lo hi (tau i) < clip lo hi (tau (S i)) ->
  0 < left (visible tau a lo hi i) /\ 0 < right (visible tau a lo hi i).
Proof.
  intros H C. unfold visible.
  destruct (enter_leave_range tau lo hi i H C) as (HD & H0 & HL & H1).
  destruct (linear_cut_pos (duration tau i) (a i) (a (S i)) _ _ HD H0 HL H1) as (L & R & _). auto.
Qed.
Lemma held_nonneg tau a n lo hi : lo <= hi ->
  0 <= held_before tau a lo hi /\ 0 <= held_after tau a n lo hi.
Proof.
  intros W. unfold held_before, held_after.
  pose proof (clip_range lo hi (tau 0%nat) W). pose proof (clip_range lo hi (tau n) W).
  split; apply Rmult_le_pos; try lra; left; apply exp_pos.
Qed.

(** [weights] Masses are never negative. *)
Theorem P_nonneg tau a n lo hi i : timeline tau n -> lo <= hi -> (i <= n)%nat ->
  0 <= P tau a n lo hi i.
Proof.
  intros T W L. destruct (held_nonneg tau a n lo hi W) as [HB HA].
  unfold P, node_mass, from_left, from_right. apply Rplus_le_le_0_compat.
  - destruct i; [exact HB|]. apply visible_nonneg, T. lia.
  - destruct (Nat.eqb_spec i n); [exact HA|]. apply visible_nonneg, T. lia.
Qed.

(** [weights] The left node of a segment of which a part of positive length is visible has a
    positive mass. *)
Theorem P_pos_left tau a n lo hi i : timeline tau n -> lo <= hi -> (i < n)%nat ->
  clip lo hi (tau i) < clip lo hi (tau (S i)) -> 0 < P tau a n lo hi i.
Proof.
  intros T W L C. destruct (visible_pos tau a lo hi i (T i L) C) as [HL _].
  unfold P, node_mass. apply Rplus_le_lt_0_compat.
  - unfold from_left. destruct i; [now apply (held_nonneg tau a n)|]. apply visible_nonneg, T. lia.
  - unfold from_right. destruct (Nat.eqb_spec i n); [lia | exact HL].
Qed.

(** [weights] The right node of a segment of which a part of positive length is visible has a
    positive mass. *)
Theorem P_pos_right tau a n lo hi i : timeline tau n -> lo <= hi -> (i < n)%nat ->
  clip lo hi (tau i) < clip lo hi (tau (S i)) -> 0 < P tau a n lo hi (S i).
Proof.
  intros T W L C. destruct (visible_pos tau a lo hi i (T i L) C) as [_ HR].
  unfold P, node_mass. apply Rplus_lt_le_0_compat.
  - exact HR.
  - unfold from_right. destruct (Nat.eqb_spec (S i) n); [now apply held_nonneg|].
    apply visible_nonneg, T. lia.
Qed.

(** [weights] The total mass of a window of positive length is positive. *)
Theorem Z_pos tau a n lo hi : timeline tau n -> lo < hi -> 0 < Z tau a n lo hi.
Proof.
  intros T W.
  set (m := - sum (fun i => Rabs (a i)) (S n)).
  assert (M : forall i, (i <= n)%nat -> m <= a i).
  { intros i Hi. unfold m.
    assert (Rabs (a i) <= sum (fun i => Rabs (a i)) (S n)).
    { rewrite <- (sum_delta (fun i => Rabs (a i)) (S n) i) by lia. apply sum_le. intros j _.
      pose proof (Rabs_pos (a j)). unfold delta. destruct (Nat.eqb i j); lra. }
    pose proof (Rle_abs (- a i)). rewrite Rabs_Ropp in *. lra. }
  apply Rlt_le_trans with ((hi - lo) * exp m).
  { apply Rmult_lt_0_compat; [lra | apply exp_pos]. }
  apply (is_RInt_le (fun _ => exp m) (fun s => exp (curve tau a n s)) lo hi); try lra.
  - apply is_RInt_const_R.
  - apply eq9_denominator; [exact T | lra].
  - intros s _. apply exp_le_mono.
    set (h := sum (fun i => Rabs (a i)) (S n)).
    apply (curve_bounds tau a n s m h T). intros i Hi. split; [now apply M|].
    unfold h. apply Rle_trans with (Rabs (a i)); [apply Rle_abs|].
    rewrite <- (sum_delta (fun i => Rabs (a i)) (S n) i) by lia. apply sum_le. intros j _.
    pose proof (Rabs_pos (a j)). unfold delta. destruct (Nat.eqb i j); lra.
Qed.

(** [(2)] The denominator of (2) is positive for every window of positive length, so o is
    defined. *)
Theorem eq2_denominator scale d q K tau n lo hi : timeline tau n -> lo < hi ->
  0 < RInt (fun s => exp (scale * dot d q (fun e => curve tau (fun i => K i e) n s))) lo hi.
Proof.
  intros T W.
  rewrite (RInt_ext_R _ (fun s => exp (curve tau (score scale d q K) n s))).
  - rewrite (is_RInt_value _ _ _ _ (eq9_denominator tau (score scale d q K) n lo hi T ltac:(lra))).
    now apply Z_pos.
  - intros s. now rewrite curve_of_scores.
Qed.

(** [weights] Weights are never negative. *)
Theorem weights_nonneg tau a n lo hi i : timeline tau n -> lo < hi -> (i <= n)%nat ->
  0 <= weight tau a n lo hi i.
Proof.
  intros T W L. apply Rdiv_le_0_compat; [apply P_nonneg; auto; lra | now apply Z_pos].
Qed.

(** [weights] The two nodes of a segment of which a part of positive length is visible have positive
    weights. *)
Theorem weights_pos tau a n lo hi i : timeline tau n -> lo < hi -> (i < n)%nat ->
  clip lo hi (tau i) < clip lo hi (tau (S i)) ->
  0 < weight tau a n lo hi i /\ 0 < weight tau a n lo hi (S i).
Proof.
  intros T W L C. pose proof (Z_pos tau a n lo hi T W) as ZP. unfold weight.
  split; apply Rdiv_lt_0_compat; auto; [apply P_pos_left | apply P_pos_right]; auto; lra.
Qed.

(** [weights] Weights sum to one. *)
Theorem weights_sum_one tau a n lo hi : timeline tau n -> lo < hi ->
  sum (weight tau a n lo hi) (S n) = 1.
Proof.
  intros T W. pose proof (Z_pos tau a n lo hi T W) as ZP.
  rewrite (sum_ext _ (fun i => / Z tau a n lo hi * P tau a n lo hi i))
    by (intros; unfold weight, Rdiv; ring).
  rewrite sum_scal. fold (Z tau a n lo hi). field. lra.
Qed.

(** [(11)] o is the sum of w_i v_i. *)
Theorem attention_weights scale d q K V tau n lo hi c : timeline tau n -> lo <= hi ->
  attention scale d q K V tau n lo hi c =
  sum (fun i => weight tau (score scale d q K) n lo hi i * V i c) (S n).
Proof.
  intros T W. rewrite attention_nodes by auto. fold (Z tau (score scale d q K) n lo hi).
  unfold Rdiv. rewrite Rmult_comm, <- sum_scal. apply sum_ext. intros. unfold weight, Rdiv. ring.
Qed.

(** [weights] Every half-space that contains the values of the nodes with positive mass
    contains o: o lies in their convex hull. *)
Theorem attention_hull scale d q K V tau n lo hi m (g : nat -> R) l u :
  timeline tau n -> lo < hi ->
  (forall i, (i <= n)%nat -> 0 < P tau (score scale d q K) n lo hi i -> l <= dot m g (V i) <= u) ->
  l <= dot m g (attention scale d q K V tau n lo hi) <= u.
Proof.
  intros T W H. set (w := weight tau (score scale d q K) n lo hi).
  assert (E : dot m g (attention scale d q K V tau n lo hi)
              = sum (fun i => w i * dot m g (V i)) (S n)).
  { unfold dot. rewrite (sum_ext _ (fun c => sum (fun i => w i * (g c * V i c)) (S n))).
    - rewrite sum_swap. apply sum_ext. intros i _. now rewrite sum_scal.
    - intros c _. rewrite attention_weights by (auto; lra). rewrite <- sum_scal.
      apply sum_ext. intros. unfold w. ring. }
  assert (N : forall i, (i < S n)%nat -> 0 <= w i) by (intros; apply weights_nonneg; auto; lia).
  assert (O : sum w (S n) = 1) by now apply weights_sum_one.
  assert (B : forall i, (i < S n)%nat -> w i * l <= w i * dot m g (V i) <= w i * u).
  { intros i Hi. destruct (N i Hi) as [Hp | Hz].
    - assert (Hw : 0 < P tau (score scale d q K) n lo hi i).
      { unfold w, weight, Rdiv in Hp.
        destruct (P_nonneg tau (score scale d q K) n lo hi i T ltac:(lra) ltac:(lia)) as [|Q]; auto.
        rewrite <- Q, Rmult_0_l in Hp. lra. }
      specialize (H i ltac:(lia) Hw). split; apply Rmult_le_compat_l; lra.
    - rewrite <- Hz. lra. }
  rewrite E. split.
  - rewrite <- (Rmult_1_l l), <- O, Rmult_comm, <- sum_scal. apply sum_le.
    intros i Hi. specialize (B i Hi). lra.
  - rewrite <- (Rmult_1_l u), <- O, Rmult_comm, <- sum_scal. apply sum_le.
    intros i Hi. specialize (B i Hi). lra.
Qed.

(** ** (10) and (11) with logarithms *)

(** b_i = log P_i - a_i. *)
Definition bias (tau a : nat -> R) (n : nat) (lo hi : R) (i : nat) : R :=
  ln (P tau a n lo hi i) - a i.

(** [(10)] e^{a_i + b_i} = P_i where P_i > 0. *)
Theorem exp_bias tau a n lo hi i : 0 < P tau a n lo hi i ->
  exp (a i + bias tau a n lo hi i) = P tau a n lo hi i.
Proof.
  intros H. unfold bias. replace (a i + (ln (P tau a n lo hi i) - a i)) with (ln (P tau a n lo hi i))
    by ring. now apply exp_ln.
Qed.

(** (10) on a window that holds the whole line, durations >= 0:
    e^{b_i} = D_i phi2(a_{i-1} - a_i) + D_{i+1} phi2(a_{i+1} - a_i), one term at either end. *)
Lemma visible_full tau a n i : timeline tau n -> (i < n)%nat ->
  visible tau a (tau 0%nat) (tau n) i = linear (duration tau i) (a i) (a (S i)).
Proof.
  intros T L. unfold visible. destruct (T i L) as [H | E].
  2: { unfold cut, linear. replace (duration tau i) with 0 by (unfold duration; lra).
       apply shares_eq; cbn [left right coupling]; ring. }
  destruct (enter_leave_whole tau (tau 0%nat) (tau n) i) as [-> ->]; auto.
  - apply (timeline_le tau n); auto; lia.
  - apply (timeline_le tau n); auto; lia.
  - apply linear_whole.
Qed.
Lemma held_full tau a n : timeline tau n ->
  held_before tau a (tau 0%nat) (tau n) = 0 /\ held_after tau a n (tau 0%nat) (tau n) = 0.
Proof.
  intros T. pose proof (timeline_le tau n 0 n T ltac:(lia) ltac:(lia)).
  unfold held_before, held_after. rewrite !clip_id by lra. split; ring.
Qed.
Definition increasing (tau : nat -> R) (n : nat) : Prop :=
  forall i, (i < n)%nat -> tau i < tau (S i).
Lemma increasing_timeline tau n : increasing tau n -> timeline tau n.
Proof. intros H i L. left. now apply H. Qed.

(** [(10)] Whole window, durations >= 0: P_0 = e^{a_0} D_1 phi2(a_1 - a_0). *)
Theorem eq10_first tau a n : timeline tau n -> (0 < n)%nat ->
  P tau a n (tau 0%nat) (tau n) 0 =
  exp (a 0%nat) * (duration tau 0 * phi2 (a 1%nat - a 0%nat)).
Proof.
  intros T L.
  unfold P, node_mass, from_left, from_right. destruct (held_full tau a n T) as [-> _].
  destruct (Nat.eqb_spec 0 n); [lia|]. rewrite visible_full by (auto; lia).
  cbn [linear left]. ring.
Qed.

(** [(10)] Whole window, durations >= 0: P_i = e^{a_i} (D_i phi2(a_{i-1} - a_i) + D_{i+1}
    phi2(a_{i+1} - a_i)). *)
Theorem eq10_inner tau a n i : timeline tau n -> (S i < n)%nat ->
  P tau a n (tau 0%nat) (tau n) (S i) =
  exp (a (S i)) * (duration tau i * phi2 (a i - a (S i))
                   + duration tau (S i) * phi2 (a (S (S i)) - a (S i))).
Proof.
  intros T L. unfold P, node_mass, from_left, from_right.
  destruct (Nat.eqb_spec (S i) n); [lia|].
  rewrite !visible_full by (auto; lia). cbn [linear left right]. ring.
Qed.

(** [(10)] Whole window, durations >= 0: P_n = e^{a_n} D_n phi2(a_{n-1} - a_n). *)
Theorem eq10_last tau a m : timeline tau (S m) ->
  P tau a (S m) (tau 0%nat) (tau (S m)) (S m) =
  exp (a (S m)) * (duration tau m * phi2 (a m - a (S m))).
Proof.
  intros T. unfold P, node_mass, from_left, from_right. destruct (held_full tau a (S m) T) as [_ ->].
  rewrite Nat.eqb_refl. rewrite visible_full by (auto; lia).
  cbn [linear left right]. ring.
Qed.

(** [(11)] o is a softmax over the nodes of a_i + b_i, on any window where every node has a
    positive mass. *)
Theorem eq11_window scale d q K V tau n lo hi c : timeline tau n -> lo <= hi ->
  let a := score scale d q K in
  (forall i, (i <= n)%nat -> 0 < P tau a n lo hi i) ->
  attention scale d q K V tau n lo hi c =
  sum (fun i => exp (a i + bias tau a n lo hi i) * V i c) (S n)
  / sum (fun i => exp (a i + bias tau a n lo hi i)) (S n).
Proof.
  intros T W a H. rewrite attention_nodes by auto. fold a.
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros i Hi; rewrite exp_bias; auto; apply H; lia.
Qed.

(** [(11)] On any window of positive length o is a softmax of a_i + b_i over the nodes with a positive
    mass; the others have the weight 0. *)
Theorem eq11_visible scale d q K V tau n lo hi c : timeline tau n -> lo < hi ->
  let a := score scale d q K in
  let e i := if Rlt_dec 0 (P tau a n lo hi i) then exp (a i + bias tau a n lo hi i) else 0 in
  (forall i, (i <= n)%nat -> e i = P tau a n lo hi i) /\ 0 < sum e (S n) /\
  attention scale d q K V tau n lo hi c = sum (fun i => e i * V i c) (S n) / sum e (S n).
Proof.
  intros T W a e.
  assert (E : forall i, (i <= n)%nat -> e i = P tau a n lo hi i).
  { intros i Hi. unfold e. destruct (Rlt_dec 0 (P tau a n lo hi i)) as [H | H]; [now apply exp_bias|].
    pose proof (P_nonneg tau a n lo hi i T ltac:(lra) Hi). lra. }
  assert (S1 : sum e (S n) = Z tau a n lo hi) by (apply sum_ext; intros i Hi; apply E; lia).
  split; [exact E|]. split; [rewrite S1; now apply Z_pos|].
  rewrite attention_nodes by (auto; lra). fold a.
  unfold Rdiv; apply f_equal2; [|apply f_equal]; apply sum_ext; intros i Hi; rewrite E by lia; reflexivity.
Qed.

(** [weights] On a line with positive durations every node has a positive mass in the whole
    window. *)
Theorem P_pos_full tau a n i : increasing tau n -> (0 < n)%nat -> (i <= n)%nat ->
  0 < P tau a n (tau 0%nat) (tau n) i.
Proof.
  intros I L Hi. pose proof (increasing_timeline _ _ I) as T.
  pose proof (timeline_le tau n 0 n T ltac:(lia) ltac:(lia)).
  assert (C : forall j, (j < n)%nat -> clip (tau 0%nat) (tau n) (tau j)
                                     < clip (tau 0%nat) (tau n) (tau (S j))).
  { intros j Hj. pose proof (timeline_le tau n 0 j T ltac:(lia) ltac:(lia)).
    pose proof (timeline_le tau n (S j) n T ltac:(lia) ltac:(lia)). pose proof (I j Hj).
    rewrite !clip_id by lra. exact (I j Hj). }
  destruct (Nat.eq_dec i n) as [->|N].
  - destruct n; [lia|]. apply P_pos_right; auto.
  - apply P_pos_left; auto; [lia | apply C; lia].
Qed.
