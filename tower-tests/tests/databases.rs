//! Queries of a request whose budget ends, at real servers. Debian's packages are `postgresql` and
//! `redis-server`; without them the tests print NOT RUN.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use tach_core::MonotonicInstant;
use tach_tower::{BudgetLayer, Settings, current};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};
use tower::{Layer, ServiceExt as _, service_fn};

/// Few, so that the machine is not what ends a query late.
const WORKERS: u64 = 4;
/// The most that a query may outlive its request at the server.
const LATE: Duration = Duration::from_millis(50);
/// The longest query.
const MAX: Duration = Duration::from_secs(30);

/// A server in a folder of its own, which is stopped and removed at the end.
struct Served {
    folder: PathBuf,
    child: Child,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Asserts that all queries ended soon after their requests. How slow the watchers' own rounds were
/// is the machine's share.
fn assert_soon(what: &str, ends: &[(Duration, Duration)]) {
    let latest = ends.iter().map(|end| end.0).max().unwrap();
    let slowest = ends.iter().map(|end| end.1).max().unwrap();
    println!("1,000 {what}: the latest ended {latest:?} late, the slowest look took {slowest:?}");
    assert!(latest < LATE + 3 * slowest, "{latest:?}, {slowest:?}");
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tach-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Returns the newest `PostgreSQL` that is installed.
fn postgres_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let programs = versions.filter_map(Result::ok).map(|version| version.path().join("bin"));
    programs.filter(|programs| programs.join("postgres").exists()).max()
}

/// Runs a program as the user `postgres`: it refuses to be root.
fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn start_postgres(name: &str) -> Option<(Served, Config)> {
    let programs = postgres_programs()?;
    let folder = folder(name);
    let _ = Command::new("chown").arg("postgres").arg(&folder).status();
    let data = folder.join("data");
    let made = as_postgres(&programs.join("initdb"))
        .args(["--auth=trust", "--no-sync", "-D"])
        .arg(&data)
        .status();
    assert!(made.unwrap().success(), "initdb makes the folder");
    let mut server = Command::new("setpriv");
    server.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    server.arg(programs.join("postgres")).arg("-D").arg(&data).arg("-k").arg(&folder);
    server.args(["-c", "listen_addresses=", "-c", "fsync=off"]);
    let child = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let mut config = Config::new();
    config.host_path(&folder).user("postgres").dbname("postgres");
    Some((Served { folder, child }, config))
}

async fn connect(config: &Config) -> Client {
    for _ in 0..200 {
        if let Ok((client, connection)) = config.connect(NoTls).await {
            tokio::spawn(connection);
            return client;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("the server does not start");
}

/// The recipe: a transaction whose statements end with the request, also at the server. If the
/// handler is dropped, so is the transaction, which rolls back before the connection's next use.
async fn in_time(
    client: &mut Client,
    statement: &str,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let budget = current().ok_or("no budget")?;
    let ms = budget.millis(MAX).ok_or("no time is left")?;
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("SET LOCAL statement_timeout = {ms}; {statement}")).await?;
    transaction.commit().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_ends_with_its_request() {
    let Some((_served, config)) = start_postgres("ends") else {
        return println!("databases: NOT RUN: postgresql is not installed");
    };
    let mut tasks = JoinSet::new();
    for worker in 0..WORKERS {
        let config = config.clone();
        tasks.spawn(async move {
            let (client, watcher) = (connect(&config).await, connect(&config).await);
            let pid: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
            let client = Arc::new(tokio::sync::Mutex::new(client));
            let (mut latest, mut slowest) = (Duration::ZERO, Duration::ZERO);
            for turn in 0..250 {
                let cap = Duration::from_micros(20_000 + (worker * 250 + turn) * 7_919 % 10_000);
                let held = client.clone();
                let handler = service_fn(move |_: Request<()>| {
                    let held = held.clone();
                    async move {
                        let _ = in_time(&mut *held.lock().await, "SELECT pg_sleep(10)").await;
                        std::future::pending::<Result<Response<String>, Infallible>>().await
                    }
                });
                let layer = BudgetLayer::server(Settings::new().cap(cap));
                layer.layer(handler).oneshot(Request::new(())).await.unwrap();
                let (over, mut round) = (MonotonicInstant::now(), MonotonicInstant::now());
                let asked =
                    "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'";
                while watcher.query_one(asked, &[&pid]).await.unwrap().get::<_, i64>(0) > 0 {
                    sleep(Duration::from_millis(1)).await;
                    slowest = slowest.max(round.elapsed());
                    round = MonotonicInstant::now();
                }
                latest = latest.max(over.elapsed());
            }
            (latest, slowest)
        });
    }
    assert_soon("queries", &tasks.join_all().await);
}

/// A connection that its handler gives back when it is dropped, as a pool's is.
struct Pooled {
    client: Option<Client>,
    pool: Pool,
}

type Pool = Arc<Mutex<Option<Client>>>;

impl Drop for Pooled {
    fn drop(&mut self) {
        *self.pool.lock().unwrap() = self.client.take();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_is_dirty_after_a_cut_request() {
    const IS_CLEAN: &str = "SELECT pg_current_xact_id_if_assigned() IS NULL
        AND now() = statement_timestamp() AND current_setting('statement_timeout') = '0'";
    let Some((_served, config)) = start_postgres("dirty") else {
        return println!("databases: NOT RUN: postgresql is not installed");
    };
    connect(&config).await.batch_execute("CREATE TABLE work (id bigint)").await.unwrap();
    let mut tasks = JoinSet::new();
    for worker in 0..WORKERS {
        let config = config.clone();
        tasks.spawn(async move {
            let pool = Arc::new(Mutex::new(Some(connect(&config).await)));
            let (mut dirty, mut cut) = (0, 0);
            for turn in 0..2_500 {
                let cap = Duration::from_micros(1_100 + (worker * 2_500 + turn) * 7_919 % 5_000);
                let held = pool.clone();
                let handler = service_fn(move |_: Request<()>| {
                    let pool = held.clone();
                    async move {
                        let client = pool.lock().unwrap().take();
                        let mut pooled = Pooled { client, pool };
                        let client = pooled.client.as_mut().expect("it was given back");
                        let statement = "INSERT INTO work VALUES (1); SELECT pg_sleep(0.02)";
                        let _ = in_time(client, statement).await;
                        std::future::pending::<Result<Response<String>, Infallible>>().await
                    }
                });
                let layer = BudgetLayer::server(Settings::new().cap(cap));
                layer.layer(handler).oneshot(Request::new(())).await.unwrap();
                cut += layer.stats().exhausted;
                let next = pool.lock().unwrap().take().expect("it was given back");
                // As one simple query, so that a new transaction begins with its statement.
                let is_clean = next.simple_query(IS_CLEAN).await.is_ok_and(|messages| {
                    messages.iter().any(|message| match message {
                        SimpleQueryMessage::Row(row) => row.get(0) == Some("t"),
                        _ => false,
                    })
                });
                dirty += u64::from(!is_clean);
                *pool.lock().unwrap() = Some(next);
            }
            (dirty, cut)
        });
    }
    let sums = tasks.join_all().await;
    let (dirty, cut) = sums.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("{cut} cut requests, {dirty} dirty connections");
    assert_eq!((dirty, cut), (0, 10_000));
    let rows = connect(&config).await.query_one("SELECT count(*) FROM work", &[]).await.unwrap();
    assert_eq!(rows.get::<_, i64>(0), 0, "no transaction was committed");
}

fn start_redis() -> Option<(Served, redis::Client)> {
    let folder = folder("redis");
    let socket = folder.join("redis.sock");
    let mut server = Command::new("redis-server");
    server.args(["--port", "0", "--save", "", "--unixsocket"]).arg(&socket);
    let child = server.current_dir(&folder).stdout(Stdio::null()).spawn().ok()?;
    let client = redis::Client::open(format!("unix://{}", socket.display())).unwrap();
    Some((Served { folder, child }, client))
}

async fn connect_redis(client: &redis::Client) -> redis::aio::MultiplexedConnection {
    for _ in 0..200 {
        if let Ok(connection) = client.get_multiplexed_async_connection().await {
            return connection;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("the server does not start");
}

/// The recipe: a command that blocks for the time left. Zero would mean for ever.
async fn pop_in_time(
    connection: &mut redis::aio::MultiplexedConnection,
) -> Option<(String, String)> {
    let ms = current()?.millis(MAX)?;
    let mut command = redis::cmd("BLPOP");
    command.arg("queue").arg(f64::from(ms.get()) / 1e3);
    command.query_async(connection).await.ok()?
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_command_ends_with_its_request() {
    let Some((_served, client)) = start_redis() else {
        return println!("databases: NOT RUN: redis-server is not installed");
    };
    let mut tasks = JoinSet::new();
    for worker in 0..WORKERS {
        let client = client.clone();
        tasks.spawn(async move {
            let (connection, mut watcher) =
                (connect_redis(&client).await, connect_redis(&client).await);
            let id: u64 =
                redis::cmd("CLIENT").arg("ID").query_async(&mut connection.clone()).await.unwrap();
            let id = format!("id={id} ");
            let (mut latest, mut slowest) = (Duration::ZERO, Duration::ZERO);
            for turn in 0..250 {
                let cap = Duration::from_micros(20_400 + (worker * 250 + turn) * 7_919 % 10_000);
                let held = connection.clone();
                let handler = service_fn(move |_: Request<()>| {
                    let mut held = held.clone();
                    async move {
                        pop_in_time(&mut held).await;
                        std::future::pending::<Result<Response<String>, Infallible>>().await
                    }
                });
                let layer = BudgetLayer::server(Settings::new().cap(cap));
                layer.layer(handler).oneshot(Request::new(())).await.unwrap();
                let over = MonotonicInstant::now();
                loop {
                    let round = MonotonicInstant::now();
                    let clients: String =
                        redis::cmd("CLIENT").arg("LIST").query_async(&mut watcher).await.unwrap();
                    slowest = slowest.max(round.elapsed());
                    let own =
                        clients.lines().find(|line| line.starts_with(&id)).unwrap_or_default();
                    // `b` is a client that waits for a blocking command.
                    if !own.contains(" flags=b ") {
                        break;
                    }
                    sleep(Duration::from_millis(1)).await;
                }
                latest = latest.max(over.elapsed());
            }
            (latest, slowest)
        });
    }
    assert_soon("commands", &tasks.join_all().await);
}
