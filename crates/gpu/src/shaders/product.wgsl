// The two matrix products, written once for all operands: `#use` pastes a definition with its names filled in.
//
// T x T threads, each with a tile of 4 x 4 numbers in registers: rows ty + T i of the left operand, rows tx + T j of the right one.
// Interleaved so, neighbouring threads read neighbouring rows, whose odd length in vectors keeps them in different banks.

// $out[right row][left row] = left . right, over all columns. Rows outside their operand count as zeros.
#def dots name left right vectors out
fn $name(t: u32, left_row: u32, left_count: u32, right_row: i32, right_from: i32, right_to: i32) {
    let tx = t % T;
    let ty = t / T;
    #for i in 0..4
    #for j in 0..4
    var a_$i_$j = 0.0;
    #end
    #end
    for (var column0 = 0u; column0 < params.$vectors; column0 += DEPTH) {
        workgroupBarrier();
        for (var at = t; at < 2u * SIDE * DEPTH; at += THREADS) {
            let r = at / DEPTH;
            let column = column0 + at % DEPTH;
            var x = vec4<f32>(0.0);
            if column < params.$vectors {
                if r < SIDE {
                    if r < left_count {
                        x = $left[(left_row + r) * params.$vectors + column];
                    }
                } else {
                    let s = i32(r - SIDE);
                    if s >= right_from && s < right_to {
                        x = $right[u32(right_row + s) * params.$vectors + column];
                    }
                }
            }
            stage[r * PITCH + at % DEPTH] = x;
        }
        workgroupBarrier();
        for (var c = 0u; c < DEPTH; c += 1u) {
            #for i in 0..4
            let x_$i = stage[(ty + T * $iu) * PITCH + c];
            #end
            #for j in 0..4
            let y_$j = stage[(SIDE + tx + T * $ju) * PITCH + c];
            #end
            #for i in 0..4
            #for j in 0..4
            a_$i_$j = fma(x_$i.x, y_$j.x, a_$i_$j);
            #end
            #end
            #for i in 0..4
            #for j in 0..4
            a_$i_$j = fma(x_$i.y, y_$j.y, a_$i_$j);
            #end
            #end
            #for i in 0..4
            #for j in 0..4
            a_$i_$j = fma(x_$i.z, y_$j.z, a_$i_$j);
            #end
            #end
            #for i in 0..4
            #for j in 0..4
            a_$i_$j = fma(x_$i.w, y_$j.w, a_$i_$j);
            #end
            #end
        }
    }
    #for i in 0..4
    #for j in 0..4
    $out[(tx + T * $ju) * STRIDE + ty + T * $iu] = a_$i_$j;
    #end
    #end
}
#end

// $sum_i_c += sum over rows r of weight(r, ty + T i) times columns column0 + tx + T c of row r of $from. `along` says which way the
// weights lie: `keys` where they are $tile[r][i], `queries` where they are $tile[i][r].
#def accumulate sum tile from vectors along columns first from_row to_row
    for (var r0 = 0u; r0 < SIDE; r0 += $columns_ROWS) {
        workgroupBarrier();
        for (var at = t; at < $columns_ROWS * T * $columns_COUNT; at += THREADS) {
            let r = i32(r0 + at / (T * $columns_COUNT));
            let column = params.column0 + at % (T * $columns_COUNT);
            var x = vec4<f32>(0.0);
            if column < params.$vectors && r >= $from_row && r < $to_row {
                x = $from[u32($first + r) * params.$vectors + column];
            }
            stage[at] = x;
        }
        workgroupBarrier();
        for (var r = 0u; r < $columns_ROWS; r += 1u) {
            #for i in 0..4
            #if $along == keys
            let w_$i = vec4<f32>($tile[(r0 + r) * STRIDE + ty + T * $iu]);
            #else
            let w_$i = vec4<f32>($tile[(ty + T * $iu) * STRIDE + r0 + r]);
            #end
            #end
            #for c in 0..$columns_COUNT
            let x_$c = stage[r * T * $columns_COUNT + tx + T * $cu];
            #end
            #for i in 0..4
            #for c in 0..$columns_COUNT
            $sum_$i_$c = fma(w_$i, x_$c, $sum_$i_$c);
            #end
            #end
        }
    }
#end
