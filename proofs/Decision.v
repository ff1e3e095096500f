(** * Decision: correct rounding always ends

    Every output compared with a rounding boundary is the sign of a sum
    gamma_j e^{alpha_j} with gamma_j, alpha_j in Q(sqrt m).  Grouped by equal
    exponents, the sum is 0 exactly if all grouped coefficients are 0; otherwise
    any enclosures that shrink around it show its sign after finitely many
    steps.  This rests on the theorem of Lindemann and Weierstrass, which is not
    proved here: it is the hypothesis [lindemann_weierstrass] of the theorems
    that need it. *)

From Coq Require Import Reals Lra Lia ZArith QArith Qreals List Bool.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment Sums.
Import ListNotations.
Open Scope R_scope.

(** ** The hypothesis *)

(** A real number is algebraic if it is a root of a polynomial with integer coefficients, not
    all of them 0 (lowest first). *)
Fixpoint eval (p : list Z) (x : R) : R := match p with [] => 0 | c :: p => IZR c + x * eval p x end.
Definition algebraic (x : R) : Prop := exists p, (exists c, In c p /\ c <> 0%Z) /\ eval p x = 0.

(** A sum of gamma e^alpha over a list of pairs (gamma, alpha). *)
Fixpoint exp_sum (l : list (R * R)) : R :=
  match l with [] => 0 | (g, a) :: l => g * exp a + exp_sum l end.

(** The exponents of a list are pairwise different. *)
Fixpoint distinct (l : list (R * R)) : Prop :=
  match l with [] => True | (_, a) :: l => (forall t, In t l -> snd t <> a) /\ distinct l end.

(** Lindemann-Weierstrass, for real algebraic numbers: exponentials of different algebraic
    numbers are linearly independent over the algebraic numbers. *)
Definition lindemann_weierstrass : Prop := forall l : list (R * R),
  (forall t, In t l -> algebraic (fst t) /\ algebraic (snd t)) -> distinct l ->
  exp_sum l = 0 -> forall t, In t l -> fst t = 0.

(** ** The field Q(sqrt m) *)

(** (p, q) stands for p + q sqrt m. *)
Definition qs : Type := (Q * Q)%type.

Section Field.
Variable m : Z.
(** m is positive and no square (a square scale is rational: use q = 0 with any m). *)
Hypothesis m_pos : (0 < m)%Z.
Hypothesis m_no_square : forall k : Z, (k * k <> m)%Z.

Definition value (x : qs) : R := Q2R (fst x) + Q2R (snd x) * sqrt (IZR m).
Definition qs_add (x y : qs) : qs := (fst x + fst y, snd x + snd y)%Q.
Definition qs_opp (x : qs) : qs := (- fst x, - snd x)%Q.
Definition qs_mul (x y : qs) : qs :=
  (fst x * fst y + inject_Z m * (snd x * snd y), fst x * snd y + snd x * fst y)%Q.
Definition qs_of (p : Q) : qs := (p, 0%Q).
Definition qs_norm (x : qs) : Q := (fst x * fst x - inject_Z m * (snd x * snd x))%Q.
Definition qs_inv (x : qs) : qs := (fst x / qs_norm x, - snd x / qs_norm x)%Q.
(** Equality and being zero are decided on the two rational components. *)
Definition qs_eqb (x y : qs) : bool := Qeq_bool (fst x) (fst y) && Qeq_bool (snd x) (snd y).
Definition qs_zerob (x : qs) : bool := Qeq_bool (fst x) 0 && Qeq_bool (snd x) 0.

Lemma Q2R_0 : Q2R 0 = 0.  Proof. unfold Q2R. simpl. field. Qed.
Lemma Q2R_Z z : Q2R (inject_Z z) = IZR z.  Proof. unfold Q2R. simpl. field. Qed.
Lemma root_square : sqrt (IZR m) * sqrt (IZR m) = IZR m.
Proof. apply sqrt_sqrt. apply IZR_le. lia. Qed.

Ltac use_root :=
  let S := fresh in pose proof root_square as S;
  let r := fresh "r" in set (r := sqrt (IZR m)) in *; rewrite <- S.

Lemma value_add x y : value (qs_add x y) = value x + value y.
Proof. unfold value, qs_add. simpl. rewrite !Q2R_plus. ring. Qed.
Lemma value_opp x : value (qs_opp x) = - value x.
Proof. unfold value, qs_opp. simpl. rewrite !Q2R_opp. ring. Qed.
Lemma value_mul x y : value (qs_mul x y) = value x * value y.
Proof.
  unfold value, qs_mul. simpl. rewrite !Q2R_plus, !Q2R_mult, Q2R_Z. use_root. ring.
Qed.
Lemma value_of p : value (qs_of p) = Q2R p.
Proof. unfold value, qs_of. simpl. rewrite Q2R_0. ring. Qed.

(** sqrt m is irrational: a^2 = m b^2 has no solution with b > 0, by descent. *)
Lemma no_rational_root : forall b a : Z, (0 < b)%Z -> (a * a = m * (b * b))%Z -> False.
Proof.
  intros b. pattern b. apply (well_founded_induction (Z.lt_wf 0)). clear b.
  intros b IH a Hb E.
  assert (H : exists c, (0 <= c)%Z /\ (c * c = m * (b * b))%Z).
  { exists (Z.abs a). split; [apply Z.abs_nonneg|]. rewrite <- E. apply Z.abs_square. }
  clear a E. destruct H as (a & Ha & E).
  set (k := Z.sqrt m).
  assert (K : (k * k <= m < (k + 1) * (k + 1))%Z).
  { pose proof (Z.sqrt_spec m ltac:(lia)) as S. exact S. }
  assert (K0 : (0 <= k)%Z) by apply Z.sqrt_nonneg.
  assert (K1 : (k * k < m)%Z) by (pose proof (m_no_square k); lia).
  assert (L : (k * b < a)%Z).
  { apply Z.square_lt_simpl_nonneg; [exact Ha|]. nia. }
  assert (U : (a < (k + 1) * b)%Z).
  { apply Z.square_lt_simpl_nonneg; [nia|]. nia. }
  apply (IH (a - k * b)%Z ltac:(lia) (m * b - k * a)%Z ltac:(lia)).
  replace ((m * b - k * a) * (m * b - k * a))%Z
    with (m * (m * (b * b)) - 2 * m * k * a * b + k * k * (a * a))%Z by ring.
  rewrite E. replace (m * ((a - k * b) * (a - k * b)))%Z
    with (m * (a * a) - 2 * m * k * a * b + k * k * (m * (b * b)))%Z by ring.
  rewrite E. ring.
Qed.

(** [decision] p + q sqrt m = 0 only if p = q = 0, for m no square. *)
Theorem value_zero x : value x = 0 -> (fst x == 0)%Q /\ (snd x == 0)%Q.
Proof.
  intros V. destruct (Qeq_dec (snd x) 0) as [S0|S0].
  - split; [|exact S0]. unfold value in V.
    rewrite (Qeq_eqR _ _ S0), Q2R_0, Rmult_0_l, Rplus_0_r in V.
    apply eqR_Qeq. now rewrite Q2R_0.
  - exfalso. destruct x as [[pn pd] [qn qd]]. simpl in *.
    assert (N : (qn <> 0)%Z) by (intros ->; apply S0; reflexivity).
    unfold value, Q2R in V. simpl in V.
    set (P := IZR (Zpos pd)) in *. set (D := IZR (Zpos qd)) in *.
    assert (HP : 0 < P) by (apply IZR_lt; lia). assert (HD : 0 < D) by (apply IZR_lt; lia).
    assert (E : IZR pn * D = - (IZR qn * P) * sqrt (IZR m)).
    { assert (H : IZR pn * D + IZR qn * P * sqrt (IZR m) = 0).
      { transitivity (P * D * (IZR pn * / P + IZR qn * / D * sqrt (IZR m))); [field; lra|].
        rewrite V. ring. }
      lra. }
    assert (E2 : IZR pn * D * (IZR pn * D) = IZR m * (IZR qn * P * (IZR qn * P))).
    { rewrite E. use_root. ring. }
    unfold P, D in E2. rewrite <- !mult_IZR in E2. apply eq_IZR in E2.
    apply (no_rational_root (Z.abs (qn * Zpos pd)) (pn * Zpos qd)).
    + assert (qn * Zpos pd <> 0)%Z by (apply Z.neq_mul_0; lia). lia.
    + rewrite Z.abs_square. exact E2.
Qed.

(** [decision] Being zero in Q(sqrt m) is decided on the two rational components. *)
Theorem zerob_correct x : qs_zerob x = true <-> value x = 0.
Proof.
  unfold qs_zerob. rewrite andb_true_iff, !Qeq_bool_iff. split.
  - intros [A B]. unfold value. rewrite (Qeq_eqR _ _ A), (Qeq_eqR _ _ B), Q2R_0. ring.
  - apply value_zero.
Qed.

(** [decision] Equality in Q(sqrt m) is decided on the two rational components. *)
Theorem eqb_correct x y : qs_eqb x y = true <-> value x = value y.
Proof.
  unfold qs_eqb. rewrite andb_true_iff, !Qeq_bool_iff. split.
  - intros [A B]. unfold value. now rewrite (Qeq_eqR _ _ A), (Qeq_eqR _ _ B).
  - intros V. destruct (value_zero (qs_add x (qs_opp y))) as [A B].
    + rewrite value_add, value_opp, V. ring.
    + unfold qs_add, qs_opp in A, B. simpl in A, B.
      split; apply eqR_Qeq.
      * apply Qeq_eqR in A. rewrite Q2R_plus, Q2R_opp, Q2R_0 in A. lra.
      * apply Qeq_eqR in B. rewrite Q2R_plus, Q2R_opp, Q2R_0 in B. lra.
Qed.

Lemma norm_nonzero x : value x <> 0 -> ~ (qs_norm x == 0)%Q.
Proof.
  intros N H. apply N.
  assert (E : value x * value (fst x, - snd x)%Q = Q2R (qs_norm x)).
  { unfold value, qs_norm. simpl. rewrite Q2R_minus, !Q2R_mult, Q2R_opp, Q2R_Z. use_root. ring. }
  rewrite (Qeq_eqR _ _ H), Q2R_0 in E.
  apply Rmult_integral in E. destruct E as [E|E]; [exact E|].
  destruct (value_zero _ E) as [A B]. simpl in A, B. apply zerob_correct.
  unfold qs_zerob. rewrite andb_true_iff, !Qeq_bool_iff. split; [exact A|].
  rewrite <- (Qopp_involutive (snd x)), B. reflexivity.
Qed.
Lemma value_inv x : value x <> 0 -> value (qs_inv x) = / value x.
Proof.
  intros N. pose proof (norm_nonzero x N) as H.
  assert (HN : Q2R (qs_norm x) <> 0).
  { intros C. apply H. apply eqR_Qeq. now rewrite C, Q2R_0. }
  apply (Rmult_eq_reg_l (value x)); [|exact N]. rewrite Rinv_r by exact N.
  unfold value, qs_inv. simpl. unfold Qdiv. rewrite !Q2R_mult, Q2R_opp, !Q2R_inv by exact H.
  transitivity ((Q2R (fst x) * Q2R (fst x) - IZR m * (Q2R (snd x) * Q2R (snd x))) * / Q2R (qs_norm x)).
  - use_root. ring.
  - replace (Q2R (fst x) * Q2R (fst x) - IZR m * (Q2R (snd x) * Q2R (snd x))) with (Q2R (qs_norm x)).
    + now apply Rinv_r.
    + unfold qs_norm. now rewrite Q2R_minus, !Q2R_mult, Q2R_Z.
Qed.

(** [decision] Every element of Q(sqrt m) is algebraic. *)
Theorem value_algebraic x : algebraic (value x).
Proof.
  destruct x as [[a b] [c d]].
  set (B := Zpos b). set (D := Zpos d).
  exists [a * a * (D * D) - c * c * (m * (B * B)); - 2 * a * B * (D * D); B * B * (D * D)]%Z.
  split.
  - exists (B * B * (D * D))%Z. split; [simpl; auto|]. unfold B, D. lia.
  - unfold value, Q2R. cbn [eval fst snd Qnum Qden]. fold B D.
    rewrite !minus_IZR, !mult_IZR.
    assert (HB : IZR B <> 0) by (apply IZR_neq; unfold B; lia).
    assert (HD : IZR D <> 0) by (apply IZR_neq; unfold D; lia).
    transitivity (IZR c * IZR c * (IZR B * IZR B) * (sqrt (IZR m) * sqrt (IZR m) - IZR m)).
    + field. auto.
    + rewrite root_square. ring.
Qed.

(** ** Grouping by exponent *)

(** A term (gamma, alpha) and the sum of gamma e^alpha. *)
Definition term : Type := (qs * qs)%type.
Definition real_terms (l : list term) : list (R * R) := map (fun t => (value (fst t), value (snd t))) l.
Definition total (l : list term) : R := exp_sum (real_terms l).

(** Adds a term to a list whose exponents are pairwise different. *)
Fixpoint add_term (t : term) (l : list term) : list term :=
  match l with
  | [] => [t]
  | t' :: l => if qs_eqb (snd t) (snd t') then (qs_add (fst t) (fst t'), snd t') :: l
               else t' :: add_term t l
  end.
Fixpoint group (l : list term) : list term :=
  match l with [] => [] | t :: l => add_term t (group l) end.

Lemma total_cons t l : total (t :: l) = value (fst t) * exp (value (snd t)) + total l.
Proof. reflexivity. Qed.
Lemma add_term_total t l : total (add_term t l) = value (fst t) * exp (value (snd t)) + total l.
Proof.
  induction l as [|t' l IH]; [reflexivity|]. simpl add_term.
  destruct (qs_eqb (snd t) (snd t')) eqn:E.
  - apply eqb_correct in E. rewrite !total_cons. simpl. rewrite value_add, E. ring.
  - rewrite !total_cons, IH. ring.
Qed.

(** [decision] Grouping terms by exponent does not change the sum. *)
Theorem group_total l : total (group l) = total l.
Proof. induction l as [|t l IH]; [reflexivity|]. simpl group. now rewrite add_term_total, IH. Qed.

Lemma add_term_exponents t l s : In s (add_term t l) ->
  value (snd s) = value (snd t) \/ exists s', In s' l /\ snd s = snd s'.
Proof.
  induction l as [|t' l IH]; simpl.
  - intros [<-|[]]; auto.
  - destruct (qs_eqb (snd t) (snd t')).
    + intros [<-|H]; [right; exists t'; auto | right; exists s; auto].
    + intros [<-|H]; [right; exists t'; auto|].
      destruct (IH H) as [E|[s' [I E]]]; [auto | right; exists s'; auto].
Qed.
Lemma add_term_distinct t l : distinct (real_terms l) -> distinct (real_terms (add_term t l)).
Proof.
  induction l as [|t' l IH]; simpl; [intros _; split; [intros _ []|exact I]|].
  intros [N H]. destruct (qs_eqb (snd t) (snd t')) eqn:E; simpl; [split; auto|].
  split; [|apply IH, H].
  intros r Hr. unfold real_terms in Hr. apply in_map_iff in Hr. destruct Hr as (s & <- & Hs). simpl.
  destruct (add_term_exponents t l s Hs) as [Es|[s' [Hs' Es]]].
  - intros C. assert (T : qs_eqb (snd t) (snd t') = true) by (apply eqb_correct; lra). congruence.
  - rewrite Es. exact (N (value (fst s'), value (snd s'))
      (in_map (fun t => (value (fst t), value (snd t))) l s' Hs')).
Qed.

(** [decision] After grouping the exponents are pairwise different. *)
Theorem group_distinct l : distinct (real_terms (group l)).
Proof. induction l as [|t l IH]; simpl; [exact I|]. now apply add_term_distinct. Qed.

(** ** The decision *)

(** Is the sum zero?  Computed on rational numbers alone. *)
Definition is_zero (l : list term) : bool := forallb (fun t => qs_zerob (fst t)) (group l).

Lemma all_zero_total l : (forall t, In t l -> value (fst t) = 0) -> total l = 0.
Proof.
  induction l as [|t l IH]; intros H; [reflexivity|].
  rewrite total_cons, H, IH by (simpl; auto; intros; apply H; simpl; auto). ring.
Qed.

(** [decision] Given Lindemann-Weierstrass: the sum of gamma e^alpha is 0 exactly if all
    grouped coefficients vanish. *)
Theorem zero_iff_groups_vanish : lindemann_weierstrass -> forall l,
  total l = 0 <-> forall t, In t (group l) -> value (fst t) = 0.
Proof.
  intros LW l. rewrite <- group_total. split.
  - intros H t Ht.
    refine (LW (real_terms (group l)) _ (group_distinct l) H (value (fst t), value (snd t)) _).
    + intros r Hr. unfold real_terms in Hr. apply in_map_iff in Hr. destruct Hr as (s & <- & _).
      split; apply value_algebraic.
    + exact (in_map (fun t => (value (fst t), value (snd t))) _ t Ht).
  - apply all_zero_total.
Qed.

(** [decision] Given Lindemann-Weierstrass: the rational computation is_zero decides whether
    the sum is 0. *)
Theorem is_zero_correct : lindemann_weierstrass -> forall l, is_zero l = true <-> total l = 0.
Proof.
  intros LW l. rewrite (zero_iff_groups_vanish LW). unfold is_zero. rewrite forallb_forall.
  split; intros H t Ht; apply zerob_correct; auto.
Qed.

(** [decision] Dropping terms with coefficient 0 does not change the sum. *)
Theorem drop_zero_groups l : total (filter (fun t => negb (qs_zerob (fst t))) l) = total l.
Proof.
  induction l as [|t l IH]; [reflexivity|]. simpl.
  destruct (qs_zerob (fst t)) eqn:E; simpl negb; cbv iota; rewrite !total_cons || rewrite total_cons.
  - apply zerob_correct in E. rewrite E, IH. ring.
  - now rewrite IH.
Qed.

(** [decision] Taking c off all exponents multiplies the sum by e^{-c}, which keeps its sign.
    *)
Theorem re_anchor (l : list (R * R)) c :
  exp_sum (map (fun t => (fst t, snd t - c)) l) = exp (- c) * exp_sum l.
Proof.
  induction l as [|[g a] l IH]; simpl; [ring|]. rewrite IH. unfold Rminus. rewrite exp_plus. ring.
Qed.

(** [decision] Given Lindemann-Weierstrass: either the sum is a tie, which is_zero finds, or
    enclosures that become arbitrarily narrow exclude 0 after finitely many steps. *)
Theorem decision_ends : lindemann_weierstrass -> forall l (lo hi : nat -> R),
  (forall k, lo k <= total l <= hi k) ->
  (forall eps, 0 < eps -> exists k, hi k - lo k < eps) ->
  is_zero l = true \/ exists k, 0 < lo k \/ hi k < 0.
Proof.
  intros LW l lo hi B S. destruct (is_zero l) eqn:E; [left; reflexivity | right].
  assert (N : total l <> 0) by (intros H; apply (is_zero_correct LW) in H; congruence).
  destruct (S (Rabs (total l)) (Rabs_pos_lt _ N)) as [k Hk]. exists k.
  specialize (B k). unfold Rabs in Hk. destruct (Rcase_abs (total l)); lra.
Qed.

(** [decision] The sign that an enclosure shows is the sign of the sum. *)
Theorem sign_shown l lo hi : lo <= total l <= hi ->
  (0 < lo -> 0 < total l) /\ (hi < 0 -> total l < 0).
Proof. lra. Qed.

(** ** Outputs have this form *)

(** [decision] Comparing N/Z with c is the sign of N - c Z. *)
Theorem output_against N Z c : 0 < Z -> (N / Z < c <-> N - c * Z < 0) /\ (N / Z = c <-> N - c * Z = 0).
Proof.
  intros HZ. assert (E : N - c * Z = (N / Z - c) * Z) by (field; lra). rewrite E. split; split; intros H.
  - nra.
  - destruct (Rlt_dec (N / Z) c); [auto|]. exfalso.
    assert (0 <= (N / Z - c) * Z) by (apply Rmult_le_pos; lra). lra.
  - rewrite H. ring.
  - apply Rmult_integral in H. lra.
Qed.

(** [decision] Comparing log Z with c is the sign of Z - e^c. *)
Theorem lse_against Z c : 0 < Z -> (ln Z < c <-> Z - exp c < 0) /\ (ln Z = c <-> Z - exp c = 0).
Proof.
  intros HZ. split; split; intros H.
  - apply exp_increasing in H. rewrite exp_ln in H by exact HZ. lra.
  - apply exp_lt_inv. rewrite exp_ln by exact HZ. lra.
  - rewrite <- H, exp_ln by exact HZ. ring.
  - rewrite <- (ln_exp c). f_equal. lra.
Qed.

(** [decision] Comparing b = log P - a with c is the sign of P - e^{a + c}. *)
Theorem bias_against P a c : 0 < P ->
  (ln P - a < c <-> P - exp (a + c) < 0) /\ (ln P - a = c <-> P - exp (a + c) = 0).
Proof.
  intros HP. destruct (lse_against P (a + c) HP) as [L E]. split.
  - rewrite <- L. split; lra.
  - rewrite <- E. split; lra.
Qed.

(** [decision] With duration and scores in Q(sqrt m), the Linear shares are g0 e^{a0} + g1
    e^{a1} with g0, g1 in Q(sqrt m). *)
Theorem linear_shares_in_field (D a0 a1 : qs) : exists l0 l1 r0 r1 : qs,
  left (linear (value D) (value a0) (value a1))
    = value l0 * exp (value a0) + value l1 * exp (value a1)
  /\ right (linear (value D) (value a0) (value a1))
    = value r0 * exp (value a0) + value r1 * exp (value a1).
Proof.
  destruct (Req_dec (value a1) (value a0)) as [E|N].
  - exists (qs_mul D (qs_of (1 # 2))), (qs_of 0), (qs_of 0), (qs_mul D (qs_of (1 # 2))).
    unfold linear. cbn [left right]. rewrite !value_mul, !value_of, E, !Rminus_eq_0, phi2_0, Q2R_0.
    replace (Q2R (1 # 2)) with (1 / 2) by (unfold Q2R; simpl; field). split; ring.
  - set (x := qs_add a1 (qs_opp a0)).
    assert (X : value x = value a1 - value a0) by (unfold x; rewrite value_add, value_opp; ring).
    assert (X0 : value x <> 0) by lra.
    set (k := qs_mul D (qs_mul (qs_inv x) (qs_inv x))).
    assert (K : value k = value D / value x ^ 2).
    { unfold k. rewrite !value_mul, value_inv by exact X0. field. exact X0. }
    set (j := qs_mul D (qs_inv x)).
    assert (J : value j = value D / value x).
    { unfold j. rewrite value_mul, value_inv by exact X0. reflexivity. }
    exists (qs_opp (qs_add k j)), k, k, (qs_add j (qs_opp k)).
    rewrite !value_opp, !value_add, value_opp, K, J.
    assert (E1 : exp (value a1) = exp (value a0) * exp (value x)).
    { rewrite <- exp_plus. f_equal. lra. }
    unfold linear. cbn [left right]. rewrite <- X.
    replace (value a0 - value a1) with (- value x) by lra.
    rewrite !phi2_closed by lra. rewrite E1, exp_Ropp.
    pose proof (exp_pos (value x)). split; field; lra.
Qed.

(** [decision] With duration and scores in Q(sqrt m), so are the shares of Step and Trapezoid.
    *)
Theorem step_trapezoid_shares_in_field (D a0 a1 : qs) : exists g h : qs,
  right (step (value D) (value a0) (value a1)) = value g * exp (value a1)
  /\ left (trapezoid (value D) (value a0) (value a1)) = value h * exp (value a0)
  /\ right (trapezoid (value D) (value a0) (value a1)) = value h * exp (value a1).
Proof.
  exists D, (qs_mul D (qs_of (1 # 2))). unfold step, trapezoid. cbn [left right].
  rewrite value_mul, value_of. replace (Q2R (1 # 2)) with (1 / 2) by (unfold Q2R; simpl; field).
  repeat split; field.
Qed.

(** ** A whole row *)

Lemma total_app l k : total (l ++ k) = total l + total k.
Proof.
  induction l as [|t l IH]; [unfold total; simpl; ring|].
  simpl app. rewrite !total_cons, IH. ring.
Qed.
Definition qs_sub (x y : qs) : qs := qs_add x (qs_opp y).
Lemma value_sub x y : value (qs_sub x y) = value x - value y.
Proof. unfold qs_sub. rewrite value_add, value_opp. ring. Qed.
Definition qs_lerp (u0 u1 s : qs) : qs := qs_add (qs_mul (qs_sub (qs_of 1) s) u0) (qs_mul s u1).
Lemma Q2R_1 : Q2R 1 = 1.  Proof. unfold Q2R. simpl. field. Qed.
Lemma value_lerp u0 u1 s : value (qs_lerp u0 u1 s) = lerp (value u0) (value u1) (value s).
Proof. unfold qs_lerp, lerp. now rewrite value_add, !value_mul, value_sub, value_of, Q2R_1. Qed.

(** A rule whose shares are g0 e^{a0} + g1 e^{a1} with g0, g1 in the field. *)
Definition rule_in_field (r : rule) : Prop := forall D a0 a1 : qs, exists l0 l1 r0 r1 : qs,
  left (r (value D) (value a0) (value a1)) = value l0 * exp (value a0) + value l1 * exp (value a1)
  /\ right (r (value D) (value a0) (value a1)) = value r0 * exp (value a0) + value r1 * exp (value a1).

Lemma linear_rule_in_field : rule_in_field linear.
Proof. exact linear_shares_in_field. Qed.
Lemma trapezoid_rule_in_field : rule_in_field trapezoid.
Proof.
  intros D a0 a1. destruct (step_trapezoid_shares_in_field D a0 a1) as (_ & h & _ & L & R).
  exists h, (qs_of 0), (qs_of 0), h. rewrite L, R, !value_of, Q2R_0. split; ring.
Qed.

(** One segment's part of N - c Z. *)
Lemma segment_in_field (r : rule) (alpha beta D a0 a1 y0 y1 c : qs) : rule_in_field r -> exists l : list term,
  let p := cut r (value alpha) (value beta) (value D) (value a0) (value a1) in
  total l = left p * value y0 + right p * value y1 - value c * mass p.
Proof.
  intros F. set (aa := qs_lerp a0 a1 alpha). set (ab := qs_lerp a0 a1 beta).
  destruct (F (qs_mul (qs_sub beta alpha) D) aa ab) as (l0 & l1 & r0 & r1 & L & R).
  unfold aa, ab in L, R. rewrite value_mul, value_sub, !value_lerp in L, R.
  set (kl := qs_sub (qs_lerp y0 y1 alpha) c). set (kr := qs_sub (qs_lerp y0 y1 beta) c).
  exists [(qs_add (qs_mul l0 kl) (qs_mul r0 kr), aa); (qs_add (qs_mul l1 kl) (qs_mul r1 kr), ab)].
  cbv zeta. rewrite !total_cons. cbn [fst snd]. change (total []) with 0.
  unfold aa, ab, kl, kr. rewrite !value_add, !value_mul, !value_sub, !value_lerp.
  transitivity (left (r ((value beta - value alpha) * value D) (lerp (value a0) (value a1) (value alpha))
        (lerp (value a0) (value a1) (value beta))) * (lerp (value y0) (value y1) (value alpha) - value c)
    + right (r ((value beta - value alpha) * value D) (lerp (value a0) (value a1) (value alpha))
        (lerp (value a0) (value a1) (value beta))) * (lerp (value y0) (value y1) (value beta) - value c)).
  - rewrite L, R. ring.
  - unfold cut, mass. cbv zeta. cbn [left right].
    generalize (r ((value beta - value alpha) * value D)
      (lerp (value a0) (value a1) (value alpha)) (lerp (value a0) (value a1) (value beta))).
    intros p. unfold lerp. ring.
Qed.

(** A visible part of a segment with numbers of the field, under Linear, Trapezoid or Step. *)
Definition part_in_field (p : shares) (a0 a1 : qs) : Prop := exists alpha beta D : qs,
  p = cut linear (value alpha) (value beta) (value D) (value a0) (value a1) \/
  p = cut trapezoid (value alpha) (value beta) (value D) (value a0) (value a1) \/
  p = cut_step (value alpha) (value beta) (value D) (value a0) (value a1).

Lemma part_terms p a0 a1 y0 y1 c : part_in_field p a0 a1 -> exists l : list term,
  total l = left p * value y0 + right p * value y1 - value c * mass p.
Proof.
  intros (alpha & beta & D & [-> | [-> | ->]]).
  - now apply segment_in_field, linear_rule_in_field.
  - now apply segment_in_field, trapezoid_rule_in_field.
  - exists [(qs_mul (qs_mul (qs_sub beta alpha) D) (qs_sub y1 c), a1)].
    rewrite total_cons. cbn [fst snd]. change (total []) with 0.
    unfold cut_step, mass. cbn [left right]. rewrite !value_mul, !value_sub. ring.
Qed.

(** [decision] For a whole row under Linear, Trapezoid or Step, with cuts, lengths [before] and [after] of held
    parts, durations, scores, values and the boundary c in Q(sqrt m), N - c Z is a sum of gamma e^alpha
    over Q(sqrt m): the decision applies to o and, with the value 1 at one node, to a weight. *)
Theorem row_in_field (p : nat -> shares) (a y : nat -> qs) (before after c : qs) n :
  (forall i, (i < n)%nat -> part_in_field (p i) (a i) (a (S i))) -> exists l : list term,
  let y' i := value (y i) in
  let h0 := value before * exp (value (a 0%nat)) in let hn := value after * exp (value (a n)) in
  total l = (h0 * y' 0%nat + sum (fun i => left (p i) * y' i + right (p i) * y' (S i)) n + hn * y' n)
            - value c * (h0 + sum (fun i => mass (p i)) n + hn).
Proof.
  intros H.
  assert (R : exists l : list term,
    total l = sum (fun i => left (p i) * value (y i) + right (p i) * value (y (S i))) n
              - value c * sum (fun i => mass (p i)) n).
  { induction n as [|n IH].
    - exists []. simpl. change (total []) with 0. ring.
    - destruct IH as [l IH]; [intros i Hi; apply H; lia|].
      destruct (part_terms (p n) (a n) (a (S n)) (y n) (y (S n)) c (H n ltac:(lia))) as [k K].
      exists (l ++ k). rewrite total_app, IH, K, !sum_S. ring. }
  destruct R as [l R].
  exists ((qs_mul before (qs_sub (y 0%nat) c), a 0%nat) :: (qs_mul after (qs_sub (y n) c), a n) :: l).
  cbv zeta. rewrite !total_cons, R. cbn [fst snd]. rewrite !value_mul, !value_sub. ring.
Qed.

(** [decision] Less a power e^c, c in Q(sqrt m), such a sum keeps its form: with N - 0 Z = Z (the value 1
    everywhere) or P_i (1 at one node) the decision applies to log Z and to b_i. *)
Theorem less_power_in_field (l : list term) (c : qs) : exists k, total k = total l - exp (value c).
Proof.
  exists ((qs_of (-1), c) :: l). rewrite total_cons. cbn [fst snd]. rewrite value_of.
  replace (Q2R (-1)) with (-1) by (unfold Q2R; simpl; lra). ring.
Qed.

End Field.
