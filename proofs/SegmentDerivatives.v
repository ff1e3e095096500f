(** * SegmentDerivatives: how the shares of a segment move

    By the scores at its ends, by its duration, and by the edges of the part
    that a window leaves visible. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From ContAttn Require Import Calculus Phi Segment.
Open Scope R_scope.

(** A rule whose shares respond to the scores through the coupling alone:
    when the scores move at the rates e0, e1,
    dL = (L - h) e0 + h e1  and  dR = h e0 + (R - h) e1. *)
Definition score_derivatives (r : rule) : Prop := forall D a0 a1 e0 e1 x,
  let p := r D (a0 + x * e0) (a1 + x * e1) in
  is_derive (fun y => left (r D (a0 + y * e0) (a1 + y * e1))) x
    ((left p - coupling p) * e0 + coupling p * e1)
  /\ is_derive (fun y => right (r D (a0 + y * e0) (a1 + y * e1))) x
    (coupling p * e0 + (right p - coupling p) * e1).

(** The derivative of a moment when the scores move at the rates e0, e1. *)
Lemma moment_derive a0 a1 e0 e1 alpha beta g x : cts g ->
  is_derive (fun y => moment (a0 + y * e0) (a1 + y * e1) alpha beta g) x
    (moment (a0 + x * e0) (a1 + x * e1) alpha beta (fun s => lerp e0 e1 s * g s)).
Proof.
  intros G.
  pose proof (is_derive_exp_integral (lerp a0 a1) (lerp e0 e1) g alpha beta x
    (cts_lerp _ _) (cts_lerp _ _) G) as D.
  apply (is_derive_ext_R (fun y => RInt (fun s => exp (lerp a0 a1 s + y * lerp e0 e1 s) * g s)
                            alpha beta)).
  - intros y. apply RInt_ext_R. intros s. do 2 f_equal. unfold lerp. ring.
  - apply (is_derive_eq _ _ _ _ D). apply RInt_ext_R. intros s. do 2 f_equal. unfold lerp. ring.
Qed.

(** [gradient] Linear, whole or cut: dL = (L - h) da0 + h da1 and dR = h da0 + (R - h) da1. *)
Theorem linear_score_derivatives alpha beta : score_derivatives (cut linear alpha beta).
Proof.
  intros D a0 a1 e0 e1 x p. unfold p. clear p.
  rewrite linear_cut_integral. cbn [left right coupling].
  set (b0 := a0 + x * e0). set (b1 := a1 + x * e1).
  split.
  - apply (is_derive_ext_R (fun y => D * moment (a0 + y * e0) (a1 + y * e1) alpha beta (fun s => 1 - s))).
    { intros y. now rewrite linear_cut_integral. }
    apply (is_derive_eq _ _ _ _ (is_derive_scal_R _ D _ _
      (moment_derive a0 a1 e0 e1 alpha beta (fun s => 1 - s) x cts_w2))). fold b0 b1.
    rewrite (moment_ext _ _ _ _ _ (fun s => e0 * (1 - s) + (e1 - e0) * (s * (1 - s))))
      by (intros; unfold lerp; ring).
    rewrite (moment_lin _ _ _ _ (fun s => 1 - s) (fun s => s * (1 - s))) by cts. ring.
  - apply (is_derive_ext_R (fun y => D * moment (a0 + y * e0) (a1 + y * e1) alpha beta (fun s => s))).
    { intros y. now rewrite linear_cut_integral. }
    apply (is_derive_eq _ _ _ _ (is_derive_scal_R _ D _ _
      (moment_derive a0 a1 e0 e1 alpha beta (fun s => s) x cts_ws))). fold b0 b1.
    rewrite (moment_ext _ _ _ _ _ (fun s => e1 * s + (e0 - e1) * (s * (1 - s))))
      by (intros; unfold lerp; ring).
    rewrite (moment_lin _ _ _ _ (fun s => s) (fun s => s * (1 - s))) by cts. ring.
Qed.

(** [gradient] Step, whole or cut: dL = 0 and dR = R da1 (the same law with h = 0). *)
Theorem step_score_derivatives alpha beta : score_derivatives (cut_step alpha beta).
Proof.
  intros D a0 a1 e0 e1 x p. unfold p, cut_step. cbn [left right coupling]. split.
  - apply (is_derive_eq _ _ _ _ (is_derive_const_R 0 x)). ring.
  - deriv.
Qed.

(** [gradient] Trapezoid: dL = L da0 and dR = R da1 (the same law with h = 0). *)
Theorem trapezoid_score_derivatives : score_derivatives trapezoid.
Proof.
  intros D a0 a1 e0 e1 x p. unfold p, trapezoid. cbn [left right coupling]. split; deriv.
Qed.

(** [gradient] A cut Trapezoid follows the same law with h = alpha(1-alpha) L' + beta(1-beta)
    R'. *)
Theorem cut_trapezoid_score_derivatives alpha beta : score_derivatives (cut trapezoid alpha beta).
Proof.
  intros D a0 a1 e0 e1 x p. unfold p, cut, trapezoid, lerp. cbn [left right coupling].
  split; deriv.
Qed.

(** [gradient] dL/dD and dR/dD are the shares per unit of duration, at every D including 0, for
    fixed edge fractions. *)
Theorem cut_linear_duration D a0 a1 alpha beta :
  is_derive (fun d => left (cut linear alpha beta d a0 a1)) D (left (cut linear alpha beta 1 a0 a1))
  /\ is_derive (fun d => right (cut linear alpha beta d a0 a1)) D
       (right (cut linear alpha beta 1 a0 a1)).
Proof.
  split.
  - apply (is_derive_ext_R (fun d => d * left (cut linear alpha beta 1 a0 a1))); [|deriv].
    intros d. pose proof (cut_linear_scale 1 a0 a1 alpha beta d) as S.
    rewrite Rmult_1_r in S. now rewrite S.
  - apply (is_derive_ext_R (fun d => d * right (cut linear alpha beta 1 a0 a1))); [|deriv].
    intros d. pose proof (cut_linear_scale 1 a0 a1 alpha beta d) as S.
    rewrite Rmult_1_r in S. now rewrite S.
Qed.

(** [gradient] While duration and both edge fractions move, the part's integral against a
    weight g changes by D' int e^a g + D (beta' e^{a(beta)} g(beta) - alpha' e^{a(alpha)}
    g(alpha)). *)
Theorem moving_edges (D alpha beta : R -> R) a0 a1 g x dD dalpha dbeta : cts g ->
  is_derive D x dD -> is_derive alpha x dalpha -> is_derive beta x dbeta ->
  is_derive (fun y => D y * moment a0 a1 (alpha y) (beta y) g) x
    (dD * moment a0 a1 (alpha x) (beta x) g
     + D x * (exp (lerp a0 a1 (beta x)) * g (beta x) * dbeta
              - exp (lerp a0 a1 (alpha x)) * g (alpha x) * dalpha)).
Proof.
  intros G HD HA HB.
  apply (is_derive_mult_R D (fun y => moment a0 a1 (alpha y) (beta y) g)); [exact HD|].
  exact (is_derive_RInt_bounds _ alpha beta x dalpha dbeta (cts_moment a0 a1 g G) HA HB).
Qed.

(** [gradient] The same for the two shares of the Linear rule. *)
Theorem linear_moving_edges (D alpha beta : R -> R) a0 a1 x dD dalpha dbeta :
  is_derive D x dD -> is_derive alpha x dalpha -> is_derive beta x dbeta ->
  is_derive (fun y => left (cut linear (alpha y) (beta y) (D y) a0 a1)) x
    (dD * left (cut linear (alpha x) (beta x) 1 a0 a1)
     + D x * (exp (lerp a0 a1 (beta x)) * (1 - beta x) * dbeta
              - exp (lerp a0 a1 (alpha x)) * (1 - alpha x) * dalpha))
  /\ is_derive (fun y => right (cut linear (alpha y) (beta y) (D y) a0 a1)) x
    (dD * right (cut linear (alpha x) (beta x) 1 a0 a1)
     + D x * (exp (lerp a0 a1 (beta x)) * beta x * dbeta
              - exp (lerp a0 a1 (alpha x)) * alpha x * dalpha)).
Proof.
  intros HD HA HB. rewrite linear_cut_integral. cbn [left right]. rewrite !Rmult_1_l. split.
  - apply (is_derive_ext_R (fun y => D y * moment a0 a1 (alpha y) (beta y) (fun s => 1 - s))).
    { intros y. now rewrite linear_cut_integral. }
    exact (moving_edges D alpha beta a0 a1 (fun s => 1 - s) x _ _ _ cts_w2 HD HA HB).
  - apply (is_derive_ext_R (fun y => D y * moment a0 a1 (alpha y) (beta y) (fun s => s))).
    { intros y. now rewrite linear_cut_integral. }
    exact (moving_edges D alpha beta a0 a1 (fun s => s) x _ _ _ cts_ws HD HA HB).
Qed.

(** [gradient] A cut Trapezoid is not additive in its parts: when its edges move, its integral of v changes
    by the derivative of (D/2) lam (e^{a(alpha)} v(alpha) + e^{a(beta)} v(beta)). *)
Theorem trapezoid_moving_edges (alpha beta : R -> R) D a0 a1 v0 v1 x dalpha dbeta :
  is_derive alpha x dalpha -> is_derive beta x dbeta ->
  let lam := beta x - alpha x in
  let Ea := exp (lerp a0 a1 (alpha x)) in let Eb := exp (lerp a0 a1 (beta x)) in
  let va := lerp v0 v1 (alpha x) in let vb := lerp v0 v1 (beta x) in
  is_derive (fun y => left (cut trapezoid (alpha y) (beta y) D a0 a1) * v0
                      + right (cut trapezoid (alpha y) (beta y) D a0 a1) * v1) x
    (D / 2 * ((dbeta - dalpha) * (Ea * va + Eb * vb)
              + lam * (Ea * ((a1 - a0) * va + (v1 - v0)) * dalpha
                       + Eb * ((a1 - a0) * vb + (v1 - v0)) * dbeta))).
Proof.
  intros HA HB lam Ea Eb va vb.
  assert (L : forall u0 u1 (f : R -> R) df, is_derive f x df ->
    is_derive (fun y => lerp u0 u1 (f y)) x ((u1 - u0) * df)).
  { intros u0 u1 f df F. apply (is_derive_ext_R (fun y => u0 + (u1 - u0) * f y)).
    - intros t. unfold lerp. ring.
    - apply (is_derive_eq _ _ (0 + (u1 - u0) * df)); [|ring].
      apply (is_derive_plus_R (fun _ => u0) (fun y => (u1 - u0) * f y)); [apply is_derive_const_R|].
      now apply is_derive_scal_R. }
  assert (X : forall (f : R -> R) df, is_derive f x df ->
    is_derive (fun y => exp (lerp a0 a1 (f y)) * lerp v0 v1 (f y)) x
      (exp (lerp a0 a1 (f x)) * ((a1 - a0) * df) * lerp v0 v1 (f x)
       + exp (lerp a0 a1 (f x)) * ((v1 - v0) * df))).
  { intros f df F. apply (is_derive_mult_R (fun y => exp (lerp a0 a1 (f y))) (fun y => lerp v0 v1 (f y))).
    - apply (is_derive_comp_R exp (fun y => lerp a0 a1 (f y))); [apply is_derive_exp | now apply L].
    - now apply L. }
  apply (is_derive_ext_R (fun y => D / 2 * ((beta y - alpha y)
    * (exp (lerp a0 a1 (alpha y)) * lerp v0 v1 (alpha y) + exp (lerp a0 a1 (beta y)) * lerp v0 v1 (beta y))))).
  { intros t. rewrite (cut_value trapezoid). unfold trapezoid. cbn [left right]. field. }
  eapply is_derive_eq.
  - apply is_derive_scal_R.
    apply (is_derive_mult_R (fun y => beta y - alpha y)
      (fun y => exp (lerp a0 a1 (alpha y)) * lerp v0 v1 (alpha y)
                + exp (lerp a0 a1 (beta y)) * lerp v0 v1 (beta y))).
    + apply is_derive_minus_R; [exact HB | exact HA].
    + apply (is_derive_plus_R (fun y => exp (lerp a0 a1 (alpha y)) * lerp v0 v1 (alpha y))
        (fun y => exp (lerp a0 a1 (beta y)) * lerp v0 v1 (beta y))); [exact (X alpha dalpha HA) | exact (X beta dbeta HB)].
  - cbv beta. fold lam Ea Eb va vb. ring.
Qed.

(** [gradient] An edge at the fixed time ell after the left node of a segment of duration D has
    the fraction ell/D, which moves at the rate -(ell/D)/D. *)
Theorem fixed_edge_fraction ell D : D <> 0 ->
  is_derive (fun d => ell / d) D (- (ell / D) / D).
Proof. intros N. auto_derive; [exact N | real_eq; field; exact N]. Qed.
