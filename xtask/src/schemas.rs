//! Lines in the layouts of services, read as the services read them, with their published schemas.

use std::process::Command;

use crate::built;
use crate::cache;
use crate::files;
use crate::run::{self, output, program, run};

const TEST: &str = "presets::every_line_is_an_object_with_the_parts_of_its_service";
/// The mappings of the indexes that take in the lines of ECS.
const MAPPINGS: [&str; 2] = ["published", "strict"];

/// Installs what is missing, writes lines with hostile fields by tach-pipeline's test, and has each
/// schema check the lines of its service.
pub(crate) fn check() -> Result<(), String> {
    let home = cache::folder("TACH_SCHEMAS_HOME", "tach-schemas")?;
    run(program("bash", &["xtask/schemas/setup.sh"]).env("TACH_SCHEMAS_HOME", &home))?;
    let folder = run::target().join("schemas");
    files::fresh_folder(&folder)?;
    let within = |name: &str| folder.join(name).to_string_lossy().into_owned();

    let google =
        |arguments: &[&str]| program(&home.join("bin/google").to_string_lossy(), arguments);
    let datadog = |argument: &str| {
        let mut check = program("python3", &["xtask/schemas/datadog/check.py", argument]);
        check.env("PYTHONPATH", home.join("datadog")).env("PYTHONDONTWRITEBYTECODE", "1");
        check
    };
    let mut mappings = program("node", &["xtask/schemas/elastic/mappings.js", &within("")]);
    run(mappings.env("NODE_PATH", home.join("node_modules")))?;

    // Each name that one of the schemas defines is the name of a field in the lines of all.
    let mut names = files::read(&folder.join("names.txt"))?;
    names += &output(&mut google(&["--names"]))?;
    names += &output(&mut datadog("--names"))?;
    files::write(&folder.join("names.txt"), &names)?;
    let mut test = built::test("tach-pipeline", "it")?;
    test.args(["--exact", TEST]);
    test.env("TACH_PRESETS_FOLDER", &folder).env("TACH_PRESETS_NAMES", within("names.txt"));
    // If the test had another name, none would run, and that succeeds.
    let said = output(&mut test)?;
    if !said.contains(" 1 passed; 0 failed") {
        return Err(format!("{TEST} did not pass"));
    }

    let jars = home.join("opensearch");
    let classes = format!("{0}:{0}/*", jars.display());
    // It ends before the better compiler is worth its time.
    let options = ["-Xmx2g", "-XX:TieredStopAtLevel=1", "-cp", &classes];
    let mut elastic = program("java", &options);
    elastic.args(["Index", &within("node")]);
    elastic.arg(within("ecs.jsonl")).args(MAPPINGS.map(|name| within(&format!("{name}.json"))));
    let checks: [Command; 3] =
        [elastic, google(&[&within("google_cloud.jsonl")]), datadog(&within("datadog.jsonl"))];
    let problems: Vec<_> = checks.into_iter().filter_map(|mut one| run(&mut one).err()).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
}
