(** * Calculus: integrals and derivatives on the real line

    Coquelicot states its lemmas for arbitrary normed modules.  Here they are
    restated on R, so that the goals they leave behind are goals in R that
    [ring], [field] and [lra] can read.  Nothing in this file speaks of
    attention. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(** ** Continuous everywhere *)

(** [cts f]: f is continuous at every real number. *)
Definition cts (f : R -> R) : Prop := forall s, continuous f s.

Lemma cts_const c : cts (fun _ => c).
Proof. intros s. apply continuous_const. Qed.
Lemma cts_id : cts (fun s => s).
Proof. intros s. apply continuous_id. Qed.
Lemma cts_plus f g : cts f -> cts g -> cts (fun s => f s + g s).
Proof. intros F G s. exact (continuous_plus f g s (F s) (G s)). Qed.
Lemma cts_minus f g : cts f -> cts g -> cts (fun s => f s - g s).
Proof. intros F G s. exact (continuous_minus f g s (F s) (G s)). Qed.
Lemma cts_mult f g : cts f -> cts g -> cts (fun s => f s * g s).
Proof. intros F G s. exact (continuous_mult f g s (F s) (G s)). Qed.
Lemma cts_div f c : cts f -> cts (fun s => f s / c).
Proof. intros F. apply cts_mult; [exact F | apply cts_const]. Qed.
Lemma cts_pow f n : cts f -> cts (fun s => f s ^ n).
Proof. intros F. induction n; [exact (cts_const 1) | now apply (cts_mult f (fun s => f s ^ n))]. Qed.
Lemma cts_comp f g : cts f -> cts g -> cts (fun s => f (g s)).
Proof. intros F G s. exact (continuous_comp g f s (G s) (F (g s))). Qed.
Lemma cts_exp f : cts f -> cts (fun s => exp (f s)).
Proof.
  intros F. apply (cts_comp exp f); [|exact F].
  intros s. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). auto_derive; auto.
Qed.
Lemma cts_of_derive (f df : R -> R) : (forall s, is_derive f s (df s)) -> cts f.
Proof.
  intros H s. apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)).
  exists (df s). apply H.
Qed.

(** Closes a goal [cts f] or [continuous f s] for the functions used here. *)
Ltac cts_step :=
  match goal with
  | |- cts (fun _ => ?c) => exact (cts_const c)
  | |- cts (fun s => s) => exact cts_id
  | H : cts ?f |- cts ?f => exact H
  | H : cts ?f |- cts (fun s => ?f s) => exact H
  | |- cts (fun s => @?f s + @?g s) => apply (cts_plus f g)
  | |- cts (fun s => @?f s - @?g s) => apply (cts_minus f g)
  | |- cts (fun s => @?f s * @?g s) => apply (cts_mult f g)
  | |- cts (fun s => @?f s / ?c) => apply (cts_div f c)
  | |- cts (fun s => (@?f s) ^ ?n) => apply (cts_pow f n)
  | |- cts (fun s => exp (@?f s)) => apply (cts_exp f)
  end.
Ltac cts :=
  match goal with |- continuous ?f ?s => revert s; change (cts f) | _ => idtac end;
  repeat (cbv beta; cts_step).

(** ** Integrals *)

Lemma ex_RInt_cts f a b : cts f -> ex_RInt f a b.
Proof. intros H. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply H. Qed.
Lemma is_RInt_cts f a b : cts f -> is_RInt f a b (RInt f a b).
Proof. intros H. apply (RInt_correct (V := R_CompleteNormedModule)). now apply ex_RInt_cts. Qed.
Lemma is_RInt_eq (f : R -> R) (a b l l' : R) : is_RInt f a b l -> l = l' -> is_RInt f a b l'.
Proof. now intros H <-. Qed.
Lemma is_RInt_value (f : R -> R) (a b l : R) : is_RInt f a b l -> RInt f a b = l.
Proof. exact (is_RInt_unique (V := R_CompleteNormedModule) f a b l). Qed.
Lemma is_RInt_point_R (f : R -> R) (a : R) : is_RInt f a a 0.
Proof. exact (is_RInt_point (V := R_NormedModule) f a). Qed.

(** Only the values strictly between the bounds matter. *)
Lemma is_RInt_ext_R (f g : R -> R) (a b l : R) :
  (forall s, Rmin a b < s < Rmax a b -> f s = g s) -> is_RInt f a b l -> is_RInt g a b l.
Proof. exact (is_RInt_ext f g a b l). Qed.
Lemma is_RInt_ext_le (f g : R -> R) (a b l : R) : a <= b ->
  (forall s, a < s < b -> f s = g s) -> is_RInt f a b l -> is_RInt g a b l.
Proof. intros L H. apply is_RInt_ext_R. now rewrite Rmin_left, Rmax_right by exact L. Qed.
Lemma RInt_ext_R (f g : R -> R) a b : (forall s, f s = g s) -> RInt f a b = RInt g a b.
Proof. intros H. apply (RInt_ext (V := R_CompleteNormedModule)). intros; apply H. Qed.
Lemma RInt_ext_le (f g : R -> R) a b : a <= b ->
  (forall s, a < s < b -> f s = g s) -> RInt f a b = RInt g a b.
Proof.
  intros L H. apply (RInt_ext (V := R_CompleteNormedModule)).
  rewrite Rmin_left, Rmax_right by exact L. exact H.
Qed.

Lemma is_RInt_plus_R (f g : R -> R) (a b l m : R) :
  is_RInt f a b l -> is_RInt g a b m -> is_RInt (fun s => f s + g s) a b (l + m).
Proof. exact (is_RInt_plus (V := R_NormedModule) f g a b l m). Qed.
Lemma is_RInt_minus_R (f g : R -> R) (a b l m : R) :
  is_RInt f a b l -> is_RInt g a b m -> is_RInt (fun s => f s - g s) a b (l - m).
Proof. exact (is_RInt_minus (V := R_NormedModule) f g a b l m). Qed.
Lemma is_RInt_scal_R (f : R -> R) (a b c l : R) :
  is_RInt f a b l -> is_RInt (fun s => c * f s) a b (c * l).
Proof. exact (is_RInt_scal (V := R_NormedModule) f a b c l). Qed.
Lemma is_RInt_const_R (a b c : R) : is_RInt (fun _ => c) a b ((b - a) * c).
Proof. exact (is_RInt_const (V := R_NormedModule) a b c). Qed.
Lemma is_RInt_Chasles_R (f : R -> R) (a b c l m : R) :
  is_RInt f a b l -> is_RInt f b c m -> is_RInt f a c (l + m).
Proof. exact (is_RInt_Chasles (V := R_NormedModule) f a b c l m). Qed.

Lemma RInt_plus_R f g a b : cts f -> cts g ->
  RInt (fun s => f s + g s) a b = RInt f a b + RInt g a b.
Proof. intros F G. apply is_RInt_value. apply is_RInt_plus_R; now apply is_RInt_cts. Qed.
Lemma RInt_minus_R f g a b : cts f -> cts g ->
  RInt (fun s => f s - g s) a b = RInt f a b - RInt g a b.
Proof. intros F G. apply is_RInt_value. apply is_RInt_minus_R; now apply is_RInt_cts. Qed.
Lemma RInt_scal_R f a b c : cts f -> RInt (fun s => c * f s) a b = c * RInt f a b.
Proof. intros F. apply is_RInt_value. apply is_RInt_scal_R; now apply is_RInt_cts. Qed.
Lemma RInt_Chasles_R f a b c : cts f -> RInt f a b + RInt f b c = RInt f a c.
Proof.
  intros F. symmetry. apply is_RInt_value.
  apply (is_RInt_Chasles_R f a b c); now apply is_RInt_cts.
Qed.
Lemma RInt_point_R (f : R -> R) a : RInt f a a = 0.
Proof. apply is_RInt_value, is_RInt_point_R. Qed.

(** The fundamental theorem: an antiderivative gives the integral. *)
Lemma is_RInt_antiderivative (F f : R -> R) (a b l : R) :
  (forall s, is_derive F s (f s)) -> cts f -> F b - F a = l -> is_RInt f a b l.
Proof. intros H1 H2 <-. apply (is_RInt_derive F); auto. Qed.

(** Substitution s = u r + v. *)
Lemma RInt_affine (f : R -> R) u v a b : cts f ->
  u * RInt (fun r => f (u * r + v)) a b = RInt f (u * a + v) (u * b + v).
Proof.
  intros F.
  rewrite <- (RInt_comp_lin (V := R_CompleteNormedModule) f u v a b) by now apply ex_RInt_cts.
  symmetry. refine (RInt_scal_R (fun r => f (u * r + v)) a b u _).
  apply (cts_comp f (fun r => u * r + v)); [exact F | cts].
Qed.

Lemma RInt_le_cts f g a b : a <= b -> cts f -> cts g ->
  (forall s, a < s < b -> f s <= g s) -> RInt f a b <= RInt g a b.
Proof. intros L F G H. apply RInt_le; auto using ex_RInt_cts. Qed.
Lemma RInt_lt_cts f g a b : a < b -> cts f -> cts g ->
  (forall s, a < s < b -> f s < g s) -> RInt f a b < RInt g a b.
Proof. intros L F G H. apply RInt_lt; auto. Qed.
Lemma RInt_pos_cts f a b : a < b -> cts f -> (forall s, a < s < b -> 0 < f s) -> 0 < RInt f a b.
Proof. intros L F H. apply RInt_gt_0; auto. Qed.
Lemma RInt_nonneg_cts f a b : a <= b -> cts f -> (forall s, a < s < b -> 0 <= f s) ->
  0 <= RInt f a b.
Proof.
  intros L F H. replace 0 with (RInt (fun _ => 0) a b).
  - apply RInt_le_cts; auto using cts_const.
  - apply is_RInt_value. apply (is_RInt_eq _ _ _ _ _ (is_RInt_const_R a b 0)). ring.
Qed.

(** ** Derivatives *)

(** Derivative of an explicit function: [auto_derive], then [field]. *)
Ltac real_eq := match goal with |- ?a = ?b => change (@eq R a b) end.
Ltac deriv :=
  auto_derive; [ repeat split; auto | try (real_eq; simpl; field; repeat split; auto) ].

Lemma is_derive_eq (f : R -> R) (x l l' : R) : is_derive f x l -> l = l' -> is_derive f x l'.
Proof. now intros H <-. Qed.
Lemma is_derive_ext_R (f g : R -> R) (x l : R) :
  (forall t, f t = g t) -> is_derive f x l -> is_derive g x l.
Proof. exact (is_derive_ext (V := R_NormedModule) f g x l). Qed.
Lemma is_derive_const_R (c x : R) : is_derive (fun _ => c) x 0.
Proof. exact (is_derive_const (V := R_NormedModule) c x). Qed.
Lemma is_derive_plus_R (f g : R -> R) (x l m : R) :
  is_derive f x l -> is_derive g x m -> is_derive (fun t => f t + g t) x (l + m).
Proof. exact (is_derive_plus (V := R_NormedModule) f g x l m). Qed.
Lemma is_derive_minus_R (f g : R -> R) (x l m : R) :
  is_derive f x l -> is_derive g x m -> is_derive (fun t => f t - g t) x (l - m).
Proof. exact (is_derive_minus (V := R_NormedModule) f g x l m). Qed.
Lemma is_derive_scal_R (f : R -> R) (c x l : R) :
  is_derive f x l -> is_derive (fun t => c * f t) x (c * l).
Proof. exact (is_derive_scal f x c l). Qed.
Lemma is_derive_mult_R (f g : R -> R) (x l m : R) :
  is_derive f x l -> is_derive g x m -> is_derive (fun t => f t * g t) x (l * g x + f x * m).
Proof. intros F G. apply (is_derive_mult f g x l m F G). intros; apply Rmult_comm. Qed.
Lemma is_derive_comp_R (f g : R -> R) (x l m : R) :
  is_derive f (g x) l -> is_derive g x m -> is_derive (fun t => f (g t)) x (l * m).
Proof.
  intros F G. apply (is_derive_eq _ _ (m * l)); [|ring].
  exact (is_derive_comp (V := R_NormedModule) f g x l m F G).
Qed.
Lemma is_derive_quotient (f g : R -> R) (x l m : R) : g x <> 0 ->
  is_derive f x l -> is_derive g x m ->
  is_derive (fun t => f t / g t) x ((l - f x / g x * m) / g x).
Proof.
  intros N F G. apply (is_derive_eq _ _ ((l * g x - f x * m) / g x ^ 2)); [|now field].
  exact (is_derive_div f g x l m F G N).
Qed.
Lemma is_derive_ln_R (f : R -> R) (x l : R) : 0 < f x ->
  is_derive f x l -> is_derive (fun t => ln (f t)) x (l / f x).
Proof.
  intros P F. apply (is_derive_eq _ _ (/ f x * l)); [|unfold Rdiv; ring].
  apply (is_derive_comp_R ln f); [|exact F]. now apply is_derive_ln.
Qed.

(** Differentiation under the integral sign, for the exponential families
    that occur here: if p, r, g are continuous, then
    d/dx int_a^b e^{p(s) + x r(s)} g(s) ds = int_a^b e^{p(s) + x r(s)} r(s) g(s) ds. *)
Lemma is_derive_exp_integral (p r g : R -> R) a b x : cts p -> cts r -> cts g ->
  is_derive (fun y => RInt (fun s => exp (p s + y * r s) * g s) a b) x
    (RInt (fun s => exp (p s + x * r s) * (r s * g s)) a b).
Proof.
  intros P Q G.
  set (f := fun y s : R => exp (p s + y * r s) * g s).
  assert (D : forall y s, is_derive (fun z => f z s) y (exp (p s + y * r s) * (r s * g s))).
  { intros y s. unfold f. auto_derive; auto. ring. }
  assert (C : forall h, cts h -> forall y s : R, continuity_2d_pt (fun _ v : R => h v) y s).
  { intros h H y s. apply (continuity_1d_2d_pt_comp h (fun _ v => v)).
    - apply continuity_pt_filterlim. apply H.
    - apply continuity_2d_pt_id2. }
  apply (is_derive_eq _ _ (RInt (fun s => Derive (fun z => f z s) x) a b)).
  2:{ apply RInt_ext_R. intros s. now apply is_derive_unique. }
  apply is_derive_RInt_param.
  - apply filter_forall. intros y s _. eexists. apply D.
  - intros s _.
    apply (continuity_2d_pt_ext (fun u v => exp (p v + u * r v) * (r v * g v))).
    { intros u v. symmetry. apply is_derive_unique, D. }
    apply continuity_2d_pt_mult.
    + apply (continuity_1d_2d_pt_comp exp (fun u v => p v + u * r v)).
      * apply derivable_continuous_pt, derivable_pt_exp.
      * apply continuity_2d_pt_plus; [now apply C|].
        apply continuity_2d_pt_mult; [apply continuity_2d_pt_id1 | now apply C].
    + apply continuity_2d_pt_mult; now apply C.
  - apply filter_forall. intros y. unfold f. apply ex_RInt_cts. cts.
Qed.

(** An integral whose bounds move: d/dx int_{a(x)}^{b(x)} f = f(b) b' - f(a) a'. *)
Lemma is_derive_RInt_bounds (f a b : R -> R) x da db : cts f ->
  is_derive a x da -> is_derive b x db ->
  is_derive (fun t => RInt f (a t) (b t)) x (f (b x) * db - f (a x) * da).
Proof.
  intros F A B.
  assert (I : forall y, is_derive (RInt f 0) y (f y)).
  { intros y. apply (is_derive_RInt (V := R_NormedModule) f (RInt f 0) 0 y); [|apply F].
    apply filter_forall. intros z. now apply is_RInt_cts. }
  apply (is_derive_ext_R (fun t => RInt f 0 (b t) - RInt f 0 (a t))).
  { intros t. rewrite <- (RInt_Chasles_R f 0 (a t) (b t) F). ring. }
  apply is_derive_minus_R.
  - exact (is_derive_comp_R (RInt f 0) b x _ _ (I (b x)) B).
  - exact (is_derive_comp_R (RInt f 0) a x _ _ (I (a x)) A).
Qed.

(** Continuity at 0 with a known value is a limit. *)
Lemma is_lim_of_derive (f : R -> R) (x l : R) : is_derive f x l -> is_lim f x (f x).
Proof.
  intros H. apply is_lim_continuity. apply continuity_pt_filterlim.
  apply (ex_derive_continuous (K := R_AbsRing) (V := R_NormedModule)). now exists l.
Qed.

(** ** Two elementary facts on the exponential *)

Lemma exp_ge_1p u : 1 + u <= exp u.
Proof. destruct (Req_dec u 0) as [->|H]; [rewrite exp_0; lra | left; now apply exp_ineq1]. Qed.
Lemma exp_le_mono u v : u <= v -> exp u <= exp v.
Proof. intros [H | ->]; [left; now apply exp_increasing | lra]. Qed.
