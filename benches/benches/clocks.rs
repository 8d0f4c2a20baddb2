//! Every clock under criterion.
#![expect(missing_docs, reason = "criterion's macros make public functions")]

use benches::groups;
use criterion::{Criterion, criterion_group, criterion_main};

fn clocks(criterion: &mut Criterion) {
    for group in groups() {
        let mut benchmarks = criterion.benchmark_group(group.name);
        for subject in group.subjects {
            benchmarks.bench_function(subject.name, |bencher| {
                bencher.iter_custom(|iterations| subject.time(iterations));
            });
        }
        benchmarks.finish();
    }
}

criterion_group!(all, clocks);
criterion_main!(all);
