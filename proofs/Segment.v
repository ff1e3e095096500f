(** * Segment: what one segment gives to its two nodes

    A segment has a duration D >= 0, a score at each end (a0, a1) and reads
    the score linearly in between: at the fraction s of the segment the score
    is (1-s) a0 + s a1.  A rule maps it to the share of its left node, the
    share of its right node and the coupling of the two.  Equations (4), (5),
    the rules of the operator, and cut segments. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi.
Open Scope R_scope.

(** ** Linear reading and moments *)

Definition lerp (u0 u1 s : R) : R := (1 - s) * u0 + s * u1.

Lemma cts_lerp u0 u1 : cts (lerp u0 u1).
Proof. unfold lerp. cts. Qed.
Lemma lerp_0 u0 u1 : lerp u0 u1 0 = u0.  Proof. unfold lerp. ring. Qed.
Lemma lerp_1 u0 u1 : lerp u0 u1 1 = u1.  Proof. unfold lerp. ring. Qed.
Lemma lerp_same u s : lerp u u s = u.  Proof. unfold lerp. ring. Qed.

(** [moment a0 a1 alpha beta g] = int_alpha^beta e^{(1-s) a0 + s a1} g(s) ds. *)
Definition moment (a0 a1 alpha beta : R) (g : R -> R) : R :=
  RInt (fun s => exp (lerp a0 a1 s) * g s) alpha beta.

Lemma cts_moment a0 a1 g : cts g -> cts (fun s => exp (lerp a0 a1 s) * g s).
Proof. intros G. pose proof (cts_lerp a0 a1). cts. Qed.
Lemma is_RInt_moment a0 a1 p q g : cts g ->
  is_RInt (fun s => exp (lerp a0 a1 s) * g s) p q (moment a0 a1 p q g).
Proof. intros G. apply is_RInt_cts. now apply cts_moment. Qed.
Lemma moment_ext a0 a1 p q g h : (forall s, g s = h s) -> moment a0 a1 p q g = moment a0 a1 p q h.
Proof. intros E. apply RInt_ext_R. intros s. now rewrite E. Qed.
Lemma moment_lin a0 a1 p q g h c d : cts g -> cts h ->
  moment a0 a1 p q (fun s => c * g s + d * h s) = c * moment a0 a1 p q g + d * moment a0 a1 p q h.
Proof.
  intros G H. apply is_RInt_value.
  generalize (is_RInt_plus_R _ _ _ _ _ _
    (is_RInt_scal_R _ _ _ c _ (is_RInt_moment a0 a1 p q g G))
    (is_RInt_scal_R _ _ _ d _ (is_RInt_moment a0 a1 p q h H))).
  apply is_RInt_ext_R. intros s _. ring.
Qed.
Lemma moment_Chasles a0 a1 p q r g : cts g ->
  moment a0 a1 p q g + moment a0 a1 q r g = moment a0 a1 p r g.
Proof. intros G. apply RInt_Chasles_R. now apply cts_moment. Qed.
Lemma moment_le a0 a1 p q g h : p <= q -> cts g -> cts h ->
  (forall s, p < s < q -> g s <= h s) -> moment a0 a1 p q g <= moment a0 a1 p q h.
Proof.
  intros L G H E. apply RInt_le_cts; auto using cts_moment.
  intros s Hs. apply Rmult_le_compat_l; [left; apply exp_pos | auto].
Qed.
Lemma moment_pos a0 a1 p q g : p < q -> cts g ->
  (forall s, p < s < q -> 0 < g s) -> 0 < moment a0 a1 p q g.
Proof.
  intros L G E. apply RInt_pos_cts; auto using cts_moment.
  intros s Hs. apply Rmult_lt_0_compat; [apply exp_pos | auto].
Qed.
Lemma moment_nonneg a0 a1 p q g : p <= q -> cts g ->
  (forall s, p < s < q -> 0 <= g s) -> 0 <= moment a0 a1 p q g.
Proof.
  intros L G E. apply RInt_nonneg_cts; auto using cts_moment.
  intros s Hs. apply Rmult_le_pos; [left; apply exp_pos | auto].
Qed.

(** A moment over [alpha, beta] in terms of the weighted integrals of Phi.v. *)
Lemma moment_cut a0 a1 alpha beta g : cts g ->
  moment a0 a1 alpha beta g =
  (beta - alpha) * exp (lerp a0 a1 alpha)
  * expint (fun r => g ((beta - alpha) * r + alpha)) ((beta - alpha) * (a1 - a0)).
Proof.
  intros G. unfold moment.
  pose proof (RInt_affine (fun s => exp (lerp a0 a1 s) * g s) (beta - alpha) alpha 0 1
    (cts_moment a0 a1 g G)) as A.
  replace ((beta - alpha) * 0 + alpha) with alpha in A by ring.
  replace ((beta - alpha) * 1 + alpha) with beta in A by ring.
  rewrite <- A, Rmult_assoc. f_equal. clear A. unfold expint.
  assert (C : cts (fun r => g ((beta - alpha) * r + alpha))).
  { apply (cts_comp g (fun r => (beta - alpha) * r + alpha)); [exact G | cts]. }
  rewrite <- RInt_scal_R by cts. apply RInt_ext_R. intros r.
  rewrite <- Rmult_assoc, <- exp_plus. f_equal. f_equal. unfold lerp. ring.
Qed.

(** ** Equations (4) and (5) on one segment of duration 1 *)

(** [(4)] On one segment of duration 1, int_0^1 e^{a(s)} v(s) ds = e^{a0} (phi1(x) v1 + phi2(x)
    (v0 - v1)), x = a1 - a0. *)
Theorem eq4_segment a0 a1 v0 v1 :
  is_RInt (fun s => exp (lerp a0 a1 s) * lerp v0 v1 s) 0 1
    (exp a0 * phi1 (a1 - a0) * v1 + exp a0 * phi2 (a1 - a0) * (v0 - v1)).
Proof.
  apply (is_RInt_eq _ _ _ _ _ (is_RInt_moment a0 a1 0 1 _ (cts_lerp v0 v1))).
  rewrite moment_cut by apply cts_lerp. rewrite lerp_0.
  rewrite (expint_ext _ (fun s => v1 * 1 + (v0 - v1) * (1 - s))) by (intros; unfold lerp; ring).
  rewrite (expint_lin (fun _ => 1) (fun s => 1 - s)) by cts.
  rewrite <- phi1_expint, <- phi2_expint.
  replace ((1 - 0) * (a1 - a0)) with (a1 - a0) by ring. ring.
Qed.

(** [(5)] On one segment of duration 1, int_0^1 e^{a(s)} ds = e^{a0} phi1(x). *)
Theorem eq5_segment a0 a1 :
  is_RInt (fun s => exp (lerp a0 a1 s)) 0 1 (exp a0 * phi1 (a1 - a0)).
Proof.
  apply (is_RInt_ext_R (fun s => exp (lerp a0 a1 s) * lerp 1 1 s)).
  { intros s _. rewrite lerp_same. ring. }
  apply (is_RInt_eq _ _ _ _ _ (eq4_segment a0 a1 1 1)). ring.
Qed.

(** ** Rules *)

(** The shares of the left and right node, and the coupling h of the two. *)
Record shares := Shares { left : R; right : R; coupling : R }.
Definition mass (p : shares) : R := left p + right p.

(** A rule maps the duration and the scores at the two ends to the shares. *)
Definition rule := R -> R -> R -> shares.

(** Linear: the exact integral of the piecewise-linear reading. *)
Definition linear : rule := fun D a0 a1 =>
  Shares (D * exp a0 * phi2 (a1 - a0)) (D * exp a1 * phi2 (a0 - a1)) (D * exp a0 * psi (a1 - a0)).
(** Step: the right node holds on the whole segment. *)
Definition step : rule := fun D a0 a1 => Shares 0 (D * exp a1) 0.
(** Trapezoid: half of the duration to each end. *)
Definition trapezoid : rule := fun D a0 a1 => Shares (D * exp a0 / 2) (D * exp a1 / 2) 0.

(** A rule on the part [alpha, beta] of a segment: the rule is applied to the
    interpolated end scores with the duration of the part, and its shares are
    handed on to the two nodes of the whole segment. *)
Definition cut (r : rule) (alpha beta : R) : rule := fun D a0 a1 =>
  let lam := beta - alpha in
  let p := r (lam * D) (lerp a0 a1 alpha) (lerp a0 a1 beta) in
  Shares (left p * (1 - alpha) + right p * (1 - beta))
         (left p * alpha + right p * beta)
         (alpha * (1 - alpha) * left p + beta * (1 - beta) * right p + lam ^ 2 * coupling p).
(** Step reads the curve as constant on the segment, so its cut is simpler. *)
Definition cut_step (alpha beta : R) : rule := fun D a0 a1 =>
  Shares 0 ((beta - alpha) * D * exp a1) 0.

Lemma shares_eq l r h l' r' h' : l = l' -> r = r' -> h = h' -> Shares l r h = Shares l' r' h'.
Proof. now intros -> -> ->. Qed.

(** [cut] For any rule: what a cut segment gives to its two nodes' values is what the rule
    gives to the values read at the two edges. *)
Theorem cut_value (r : rule) D a0 a1 alpha beta v0 v1 :
  let p := r ((beta - alpha) * D) (lerp a0 a1 alpha) (lerp a0 a1 beta) in
  left (cut r alpha beta D a0 a1) * v0 + right (cut r alpha beta D a0 a1) * v1
  = left p * lerp v0 v1 alpha + right p * lerp v0 v1 beta.
Proof. intros p. unfold cut. cbn [left right]. fold p. unfold lerp at 1 2. ring. Qed.

(** ** The Linear rule is the integral *)

(** [cut] On the part [alpha, beta] of a segment the L, R and h of the Linear rule are D times
    the integrals of e^{a(s)} against 1-s, s and s(1-s). *)
Theorem linear_cut_integral D a0 a1 alpha beta :
  cut linear alpha beta D a0 a1 =
  Shares (D * moment a0 a1 alpha beta (fun s => 1 - s))
         (D * moment a0 a1 alpha beta (fun s => s))
         (D * moment a0 a1 alpha beta (fun s => s * (1 - s))).
Proof.
  set (lam := beta - alpha). set (x := lam * (a1 - a0)).
  set (Ea := exp (lerp a0 a1 alpha)).
  assert (X : lerp a0 a1 beta - lerp a0 a1 alpha = x) by (unfold x, lam, lerp; ring).
  assert (X' : lerp a0 a1 alpha - lerp a0 a1 beta = - x) by (rewrite <- X; ring).
  assert (B : exp (lerp a0 a1 beta) = Ea * exp x).
  { unfold Ea. rewrite <- exp_plus, <- X. f_equal. ring. }
  unfold cut, linear. cbn [left right coupling]. fold lam. rewrite X, X', B.
  assert (F : forall c d e, expint (fun r => c * (1 - r) + d * (1 * r + e * (r * (1 - r)))) x
              = c * phi2 x + d * (exp x * phi2 (- x) + e * psi x)).
  { intros c d e.
    rewrite (expint_lin (fun r => 1 - r) (fun r => 1 * r + e * (r * (1 - r)))) by cts.
    rewrite (expint_lin (fun r => r) (fun r => r * (1 - r))) by cts.
    rewrite <- phi2_expint, <- psi_expint, expint_s. ring. }
  apply shares_eq.
  - rewrite moment_cut by cts. fold lam x Ea.
    rewrite (expint_ext _ (fun r => (1 - alpha) * (1 - r) + (1 - beta) * (1 * r + 0 * (r * (1 - r)))))
      by (intros; unfold lam; ring).
    rewrite F. ring.
  - rewrite moment_cut by cts. fold lam x Ea.
    rewrite (expint_ext _ (fun r => alpha * (1 - r) + beta * (1 * r + 0 * (r * (1 - r)))))
      by (intros; unfold lam; ring).
    rewrite F. ring.
  - rewrite moment_cut by cts. fold lam x Ea.
    rewrite (expint_ext _ (fun r => 1 * (alpha * (1 - alpha) * (1 - r)
        + beta * (1 - beta) * (1 * r + 0 * (r * (1 - r)))) + lam ^ 2 * (r * (1 - r))))
      by (intros; unfold lam; ring).
    rewrite (expint_lin (fun r => alpha * (1 - alpha) * (1 - r)
        + beta * (1 - beta) * (1 * r + 0 * (r * (1 - r)))) (fun r => r * (1 - r))) by cts.
    rewrite F. change (expint (fun r => r * (1 - r)) x) with (psi x). ring.
Qed.

(** [cut] Linear on the part [0, 1] is Linear on the whole segment. *)
Theorem linear_whole D a0 a1 : cut linear 0 1 D a0 a1 = linear D a0 a1.
Proof.
  unfold cut, linear. cbn [left right coupling]. rewrite lerp_0, lerp_1.
  apply shares_eq; ring_simplify ((1 - 0) * D); ring.
Qed.

(** [cut] Trapezoid on the part [0, 1] is Trapezoid on the whole segment. *)
Theorem trapezoid_whole D a0 a1 : cut trapezoid 0 1 D a0 a1 = trapezoid D a0 a1.
Proof.
  unfold cut, trapezoid. cbn [left right coupling]. rewrite lerp_0, lerp_1.
  apply shares_eq; field.
Qed.

(** [cut] Step on the part [0, 1] is Step on the whole segment. *)
Theorem step_whole D a0 a1 : cut_step 0 1 D a0 a1 = step D a0 a1.
Proof. unfold cut_step, step. apply shares_eq; ring. Qed.

(** [(4)] The closed forms of L, R and h are D times the integrals of e^{a(s)} against 1-s, s
    and s(1-s) over the whole segment. *)
Theorem linear_integral D a0 a1 :
  linear D a0 a1 =
  Shares (D * moment a0 a1 0 1 (fun s => 1 - s)) (D * moment a0 a1 0 1 (fun s => s))
         (D * moment a0 a1 0 1 (fun s => s * (1 - s))).
Proof. rewrite <- linear_whole. apply linear_cut_integral. Qed.

(** [(4)] int e^a v over a part of a segment of any duration = L v0 + R v1. *)
Theorem linear_cut_value D a0 a1 alpha beta v0 v1 :
  D * moment a0 a1 alpha beta (lerp v0 v1) =
  left (cut linear alpha beta D a0 a1) * v0 + right (cut linear alpha beta D a0 a1) * v1.
Proof.
  rewrite linear_cut_integral. cbn [left right].
  rewrite (moment_ext _ _ _ _ _ (fun s => v0 * (1 - s) + v1 * s)) by (intros; unfold lerp; ring).
  rewrite (moment_lin _ _ _ _ (fun s => 1 - s) (fun s => s)) by cts. ring.
Qed.

(** [(5)] int e^a over a part of a segment of any duration = L + R. *)
Theorem linear_cut_mass D a0 a1 alpha beta :
  mass (cut linear alpha beta D a0 a1) = D * moment a0 a1 alpha beta (fun _ => 1).
Proof.
  unfold mass. pose proof (linear_cut_value D a0 a1 alpha beta 1 1) as V.
  rewrite (moment_ext _ _ _ _ _ (fun _ => 1)) in V by apply lerp_same. rewrite V. ring.
Qed.

(** [(5)] L + R = D e^{a0} phi1(x). *)
Theorem linear_mass D a0 a1 : mass (linear D a0 a1) = D * exp a0 * phi1 (a1 - a0).
Proof.
  unfold mass, linear. cbn [left right]. rewrite phi1_shares.
  replace (a0 - a1) with (- (a1 - a0)) by ring.
  replace (exp a1) with (exp a0 * exp (a1 - a0)) by (rewrite <- exp_plus; f_equal; ring). ring.
Qed.

(** [(5)] L + R is D times the logarithmic mean of e^{a0} and e^{a1}. *)
Theorem linear_mass_logarithmic_mean D a0 a1 : a0 <> a1 ->
  mass (linear D a0 a1) = D * ((exp a1 - exp a0) / (a1 - a0)).
Proof.
  intros N. rewrite linear_mass, phi1_closed by lra.
  replace (exp a1) with (exp a0 * exp (a1 - a0)) by (rewrite <- exp_plus; f_equal; ring).
  field. lra.
Qed.

(** [rule] x h = R - L, for every x (so h = (R - L)/x off 0). *)
Theorem linear_coupling D a0 a1 :
  (a1 - a0) * coupling (linear D a0 a1) = right (linear D a0 a1) - left (linear D a0 a1).
Proof.
  unfold linear. cbn [left right coupling].
  replace (a0 - a1) with (- (a1 - a0)) by ring.
  replace (exp a1) with (exp a0 * exp (a1 - a0)) by (rewrite <- exp_plus; f_equal; ring).
  transitivity (D * exp a0 * ((a1 - a0) * psi (a1 - a0))); [ring|].
  rewrite phi2_derive_closed.
  transitivity (D * exp a0 * (exp (a1 - a0) * phi2 (- (a1 - a0)) - phi2 (a1 - a0))); [|ring].
  rewrite <- eq7. ring.
Qed.

(** [rule] The form evaluated near x = 0: L + R = D e^{a0} + x L. *)
Theorem linear_near D a0 a1 :
  mass (linear D a0 a1) = D * exp a0 + (a1 - a0) * left (linear D a0 a1).
Proof.
  rewrite linear_mass, phi2_recurrence. unfold linear. cbn [left]. ring.
Qed.

(** [rule] The form evaluated away from 0: L = (mass - D e^{a0})/x and R = (D e^{a1} - mass)/x.
    *)
Theorem linear_far D a0 a1 : a0 <> a1 ->
  left (linear D a0 a1) = (mass (linear D a0 a1) - D * exp a0) / (a1 - a0) /\
  right (linear D a0 a1) = (D * exp a1 - mass (linear D a0 a1)) / (a1 - a0).
Proof.
  intros N. assert (R : mass (linear D a0 a1) - D * exp a0
                        = (a1 - a0) * left (linear D a0 a1)) by (rewrite linear_near; ring).
  split; [rewrite R; field; lra|].
  assert (S : right (linear D a0 a1) = mass (linear D a0 a1) - left (linear D a0 a1))
    by (unfold mass; ring).
  assert (T : left (linear D a0 a1) = (mass (linear D a0 a1) - D * exp a0) / (a1 - a0))
    by (rewrite R; field; lra).
  rewrite S, T, linear_mass_logarithmic_mean by exact N. field. lra.
Qed.

(** ** Signs *)

(** [rule] L, R and h are positive where the part has positive length and the segment positive
    duration. *)
Theorem linear_cut_pos D a0 a1 alpha beta : 0 < D -> 0 <= alpha -> alpha < beta -> beta <= 1 ->
  0 < left (cut linear alpha beta D a0 a1) /\ 0 < right (cut linear alpha beta D a0 a1)
  /\ 0 < coupling (cut linear alpha beta D a0 a1).
Proof.
  intros HD H0 H H1. rewrite linear_cut_integral. cbn [left right coupling].
  repeat split; (apply Rmult_lt_0_compat; [exact HD | apply moment_pos; [lra | cts | ]]);
    intros s Hs; try lra.
  apply Rmult_lt_0_compat; lra.
Qed.

(** [rule] L, R and h are never negative. *)
Theorem linear_cut_nonneg D a0 a1 alpha beta : 0 <= D -> 0 <= alpha -> alpha <= beta -> beta <= 1 ->
  0 <= left (cut linear alpha beta D a0 a1) /\ 0 <= right (cut linear alpha beta D a0 a1)
  /\ 0 <= coupling (cut linear alpha beta D a0 a1).
Proof.
  intros HD H0 H H1. rewrite linear_cut_integral. cbn [left right coupling].
  repeat split; (apply Rmult_le_pos; [exact HD | apply moment_nonneg; [lra | cts | ]]);
    intros s Hs; try lra.
  apply Rmult_le_pos; lra.
Qed.

(** [rule] h <= (L + R)/4. *)
Theorem linear_coupling_le D a0 a1 : 0 <= D ->
  coupling (linear D a0 a1) <= mass (linear D a0 a1) / 4.
Proof.
  intros HD. rewrite <- linear_whole, linear_cut_mass, linear_cut_integral. cbn [coupling].
  assert (M : moment a0 a1 0 1 (fun s => s * (1 - s)) <= moment a0 a1 0 1 (fun _ => 1 / 4)).
  { apply moment_le; [lra | cts | cts |]. intros s Hs.
    pose proof (pow2_ge_0 (s - 1 / 2)). nra. }
  rewrite (moment_ext _ _ _ _ (fun _ => 1 / 4) (fun s => 1 / 4 * 1 + 0 * 1)) in M
    by (intros; ring).
  rewrite (moment_lin _ _ _ _ (fun _ => 1) (fun _ => 1)) in M by cts. nra.
Qed.

(** [rule] D min(e^{a0}, e^{a1}) <= L + R <= D max(e^{a0}, e^{a1}): scaled by the largest score, a
    mass is at most its duration. *)
Theorem linear_mass_range D a0 a1 : 0 <= D ->
  D * Rmin (exp a0) (exp a1) <= mass (linear D a0 a1) <= D * Rmax (exp a0) (exp a1).
Proof.
  intros HD. rewrite <- linear_whole, linear_cut_mass. unfold moment.
  assert (B : forall s, 0 < s < 1 -> Rmin (exp a0) (exp a1) <= exp (lerp a0 a1 s) <= Rmax (exp a0) (exp a1)).
  { intros s Hs. assert (H : Rmin a0 a1 <= lerp a0 a1 s <= Rmax a0 a1).
    { unfold lerp, Rmin, Rmax. destruct (Rle_dec a0 a1); nra. }
    split.
    - apply Rle_trans with (exp (Rmin a0 a1)); [|apply exp_le_mono; lra].
      unfold Rmin at 2. destruct (Rle_dec a0 a1); [apply Rmin_l | apply Rmin_r].
    - apply Rle_trans with (exp (Rmax a0 a1)); [apply exp_le_mono; lra|].
      unfold Rmax at 1. destruct (Rle_dec a0 a1); [apply Rmax_r | apply Rmax_l]. }
  assert (C : forall c : R, RInt (fun _ : R => c) 0 1 = c).
  { intros c. apply is_RInt_value. apply (is_RInt_eq _ _ _ _ _ (is_RInt_const_R 0 1 c)). ring. }
  pose proof (cts_lerp a0 a1) as K. split; apply Rmult_le_compat_l; auto.
  - rewrite <- (C (Rmin (exp a0) (exp a1))). apply RInt_le_cts; [lra | cts | cts |].
    intros s Hs. rewrite Rmult_1_r. now apply B.
  - rewrite <- (C (Rmax (exp a0) (exp a1))). apply RInt_le_cts; [lra | cts | cts |].
    intros s Hs. rewrite Rmult_1_r. now apply B.
Qed.

(** ** Laws of a segment *)

(** [cut] The L, R and h of two neighbouring parts add up to those of their union. *)
Theorem linear_cut_split D a0 a1 alpha beta gamma :
  left (cut linear alpha beta D a0 a1) + left (cut linear beta gamma D a0 a1)
    = left (cut linear alpha gamma D a0 a1)
  /\ right (cut linear alpha beta D a0 a1) + right (cut linear beta gamma D a0 a1)
    = right (cut linear alpha gamma D a0 a1)
  /\ coupling (cut linear alpha beta D a0 a1) + coupling (cut linear beta gamma D a0 a1)
    = coupling (cut linear alpha gamma D a0 a1).
Proof.
  rewrite !linear_cut_integral. cbn [left right coupling].
  rewrite <- !Rmult_plus_distr_l, !moment_Chasles by cts. auto.
Qed.

(** [rule] Reversing a segment swaps L and R and keeps h. *)
Theorem linear_reversal D a0 a1 :
  linear D a1 a0 = Shares (right (linear D a0 a1)) (left (linear D a0 a1))
                          (coupling (linear D a0 a1)).
Proof.
  unfold linear. cbn [left right coupling]. apply shares_eq; auto.
  rewrite (psi_reflect (a1 - a0)).
  replace (exp a1) with (exp a0 * exp (a1 - a0)) by (rewrite <- exp_plus; f_equal; ring).
  replace (- (a1 - a0)) with (a0 - a1) by ring. ring.
Qed.

(** [cut] Reversing a segment and its cut swaps L and R and keeps h. *)
Theorem cut_linear_reversal D a0 a1 alpha beta :
  cut linear (1 - beta) (1 - alpha) D a1 a0 =
  Shares (right (cut linear alpha beta D a0 a1)) (left (cut linear alpha beta D a0 a1))
         (coupling (cut linear alpha beta D a0 a1)).
Proof.
  unfold cut. cbv zeta.
  replace (lerp a1 a0 (1 - beta)) with (lerp a0 a1 beta) by (unfold lerp; ring).
  replace (lerp a1 a0 (1 - alpha)) with (lerp a0 a1 alpha) by (unfold lerp; ring).
  replace (1 - alpha - (1 - beta)) with (beta - alpha) by ring.
  rewrite linear_reversal. cbn [left right coupling]. apply shares_eq; ring.
Qed.

(** [rule] Adding c to both scores multiplies L, R and h by e^c. *)
Theorem cut_linear_shift D a0 a1 alpha beta c :
  cut linear alpha beta D (a0 + c) (a1 + c) =
  Shares (exp c * left (cut linear alpha beta D a0 a1))
         (exp c * right (cut linear alpha beta D a0 a1))
         (exp c * coupling (cut linear alpha beta D a0 a1)).
Proof.
  unfold cut, linear. cbn [left right coupling].
  replace (lerp (a0 + c) (a1 + c) alpha) with (lerp a0 a1 alpha + c) by (unfold lerp; ring).
  replace (lerp (a0 + c) (a1 + c) beta) with (lerp a0 a1 beta + c) by (unfold lerp; ring).
  set (p := lerp a0 a1 alpha). set (q := lerp a0 a1 beta).
  replace (q + c - (p + c)) with (q - p) by ring.
  replace (p + c - (q + c)) with (p - q) by ring.
  rewrite !exp_plus. apply shares_eq; ring.
Qed.

(** [rule] L, R and h are proportional to the duration. *)
Theorem cut_linear_scale D a0 a1 alpha beta c :
  cut linear alpha beta (c * D) a0 a1 =
  Shares (c * left (cut linear alpha beta D a0 a1))
         (c * right (cut linear alpha beta D a0 a1))
         (c * coupling (cut linear alpha beta D a0 a1)).
Proof. unfold cut, linear. cbn [left right coupling]. apply shares_eq; ring. Qed.
