#!/usr/bin/env Rscript
# SPDX-License-Identifier: Apache-2.0
# Programs in the language as functions of R: dhpvm.c has the part in C. usage: Rscript smooth.R [dhpvm.so]
given <- commandArgs(trailingOnly = TRUE)
dyn.load(if (length(given) > 0) given[1] else "dhpvm.so")

compile <- function(source) .Call("dhpvm_r_compile", source)
call <- function(program, name, ...) .Call("dhpvm_r_call", program, name, list(...))

program <- compile("
    fn smooth(x: [f64], width: i64) -> [f64] {
        let y = [f64](x.len);
        parallel for i in 0..x.len {
            var (sum, count) = (0.0, 0.0);
            for k in -width..width + 1 {
                if i + k >= 0 && i + k < x.len { sum += x[i + k]; count += 1.0; }
            }
            y[i] = sum / count;
        }
        return y;
    }
    fn transposed(m: [f64, 2]) -> [f64, 2] {
        let t = [f64, 2](m.cols, m.rows);
        parallel for i in 0..m.rows, j in 0..m.cols { t[j, i] = m[i, j]; }
        return t;
    }
    fn range(x: [f64]) -> (f64, f64) {
        var (low, high) = (x[0], x[0]);
        for v in x { if v < low { low = v; } if v > high { high = v; } }
        return (low, high);
    }
    fn greet(name: str, often: i64) -> str => f\"hello, {name}, {often} times\";
")

cat(call(program, "smooth", c(1, 5, 3, 8, 2, 9), 1), "\n")
print(call(program, "transposed", matrix(c(1, 2, 3, 4, 5, 6), nrow = 2)))
cat(unlist(call(program, "range", c(3, -1, 7))), "\n")
cat(call(program, "greet", "R", 3), "\n")
for (wrong in list(quote(call(program, "range", numeric(0))), quote(call(program, "greet", 1, 2)),
                   quote(compile("fn broken(")))) {
  cat("error:", strsplit(conditionMessage(tryCatch(eval(wrong), error = identity)), "\n")[[1]][1], "\n")
}
