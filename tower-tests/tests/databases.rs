//! Queries of a request whose budget ends, at real servers. Debian's packages are `postgresql` and
//! `redis-server`; without them the tests pass, or fail with `TACH_TESTS=all`.

use std::convert::Infallible;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use diesel_async::pooled_connection::{AsyncDieselConnectionManager, deadpool};
use diesel_async::{
    AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _, SimpleAsyncConnection as _,
};
use http::{Request, Response};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Row as _};
use tach_core::MonotonicInstant;
use tach_tower::{BudgetLayer, Settings, current};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_postgres::{Client, Config, NoTls};
use tower::{Layer, ServiceExt as _, service_fn};

/// Few, so that the machine is not what ends a query late.
const WORKERS: u64 = 4;
/// The most that a query may outlive its request at the server.
const LATE: Duration = Duration::from_millis(50);
/// The longest query.
const MAX: Duration = Duration::from_secs(30);
/// The cut requests of each client.
const CUT: u64 = 10_000;

/// Each recipe of the page is a function of this file, as it stands there.
#[test]
fn the_page_shows_what_is_tried() {
    let page = include_str!("../../tach-tower/docs/databases.md");
    let (shown, tried) = (page.split("```rust\n").skip(1), include_str!("databases.rs"));
    let recipes: Vec<_> = shown.filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(recipes.len(), 5);
    for recipe in recipes {
        assert!(tried.contains(recipe), "{recipe}");
    }
}

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
    assert!(latest < LATE + 10 * slowest, "{latest:?}, {slowest:?}");
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

/// `cargo xtask tower` says so. libtest hides what a test prints that passes.
fn not_run(program: &str) {
    assert!(env::var_os("TACH_TESTS").is_none(), "{program} is not installed");
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

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The recipe for `tokio_postgres`: a transaction whose statements end with the request, also at
/// the server. If the handler is dropped, so is the transaction, which rolls back before the
/// connection's next use.
async fn in_time(client: &mut Client, statement: &str) -> Result<(), BoxError> {
    let budget = current().ok_or("no budget")?;
    let transaction = client.transaction().await?;
    let ms = budget.millis(MAX).ok_or("no time is left")?;
    transaction.batch_execute(&format!("SET LOCAL statement_timeout = {ms}; {statement}")).await?;
    transaction.commit().await?;
    Ok(())
}

/// The recipe for a pool of `sqlx` 0.8.4 to 0.9.0: they send no `ROLLBACK` if a handler is dropped
/// while it waits for `BEGIN` (sqlx#4393). A connection in a transaction is closed.
fn sqlx_pool() -> PgPoolOptions {
    PgPoolOptions::new().after_release(|connection, _| {
        Box::pin(async move {
            // One simple query, so that the transaction begins with it if there was none.
            let look = sqlx::raw_sql("SELECT now() = statement_timestamp()");
            look.fetch_one(connection).await?.try_get(0)
        })
    })
}

/// The recipe for `sqlx`.
async fn in_time_by_sqlx(pool: &PgPool, statement: &'static str) -> Result<(), BoxError> {
    let budget = current().ok_or("no budget")?;
    let mut transaction = pool.begin().await?;
    let ms = budget.millis(MAX).ok_or("no time is left")?;
    let limit = sqlx::query("SELECT set_config('statement_timeout', $1, true)");
    limit.bind(ms.to_string()).execute(&mut *transaction).await?;
    sqlx::query(statement).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// The recipe for `diesel_async`. diesel's own `transaction` takes the same statements.
async fn in_time_by_diesel(pool: &DieselPool, statement: &str) -> Result<(), BoxError> {
    let budget = current().ok_or("no budget")?;
    let mut connection = pool.get().await?;
    connection
        .transaction(async |connection| {
            let ms = budget.millis(MAX).ok_or(diesel::result::Error::RollbackTransaction)?;
            connection.batch_execute(&format!("SET LOCAL statement_timeout = {ms}")).await?;
            diesel::sql_query(statement).execute(connection).await
        })
        .await?;
    Ok(())
}

type DieselPool = deadpool::Pool<AsyncPgConnection>;

/// A pool of one connection.
#[derive(Clone)]
enum Pool {
    Tokio(Arc<Mutex<Option<Client>>>),
    Sqlx(PgPool),
    Diesel(DieselPool),
}

/// A connection of `tokio_postgres` that its handler gives back when it is dropped, as a pool's is.
struct Pooled {
    client: Option<Client>,
    pool: Arc<Mutex<Option<Client>>>,
}

impl Drop for Pooled {
    fn drop(&mut self) {
        *self.pool.lock().unwrap() = self.client.take();
    }
}

/// A row of `pg_stat_activity`, and a setting.
#[derive(diesel::QueryableByName)]
struct Looked {
    #[diesel(sql_type = diesel::sql_types::Integer)]
    pid: i32,
    #[diesel(sql_type = diesel::sql_types::Text)]
    limit: String,
}

impl Pool {
    /// Returns the pools of all clients, whose connections have the name `name`.
    async fn all(config: &Config, folder: &Path, name: &str) -> [(&'static str, Self); 3] {
        let client = connect(config.clone().application_name(name)).await;
        let options = PgConnectOptions::new_without_pgpass().socket(folder).username("postgres");
        let options = options.database("postgres").application_name(name);
        let sqlx = sqlx_pool().max_connections(1).connect_lazy_with(options);
        let folder = folder.display();
        let url = format!("host={folder} user=postgres dbname=postgres application_name={name}");
        let manager = AsyncDieselConnectionManager::new(url);
        let diesel = DieselPool::builder(manager).max_size(1).build().unwrap();
        [
            ("tokio-postgres", Self::Tokio(Arc::new(Mutex::new(Some(client))))),
            ("sqlx", Self::Sqlx(sqlx)),
            ("diesel-async", Self::Diesel(diesel)),
        ]
    }

    fn take(pool: &Arc<Mutex<Option<Client>>>) -> Pooled {
        let client = Some(pool.lock().unwrap().take().expect("it was given back"));
        Pooled { client, pool: pool.clone() }
    }

    /// Runs the recipe.
    async fn in_time(&self, statement: &'static str) {
        let _ = match self {
            Self::Tokio(pool) => {
                in_time(Self::take(pool).client.as_mut().expect("it is here"), statement).await
            }
            Self::Sqlx(pool) => in_time_by_sqlx(pool, statement).await,
            Self::Diesel(pool) => in_time_by_diesel(pool, statement).await,
        };
    }

    /// Returns whether the next user's connection has no transaction and no limit.
    async fn is_clean(&self, watcher: &Client) -> bool {
        const LOOK: &str = r#"SELECT pg_backend_pid() AS pid,
            current_setting('statement_timeout') AS "limit""#;
        // Kept until the watcher has looked.
        let (mut tokio, mut sqlx, mut diesel);
        let looked = match self {
            Self::Tokio(pool) => {
                tokio = Self::take(pool);
                let row = tokio.client.as_mut().expect("it is here").query_one(LOOK, &[]).await;
                row.map(|row| Looked { pid: row.get(0), limit: row.get(1) }).ok()
            }
            Self::Sqlx(pool) => {
                sqlx = pool.acquire().await.unwrap();
                let row: Option<(i32, String)> =
                    sqlx::query_as(LOOK).fetch_one(&mut *sqlx).await.ok();
                row.map(|(pid, limit)| Looked { pid, limit })
            }
            Self::Diesel(pool) => {
                diesel = pool.get().await.unwrap();
                diesel::sql_query(LOOK).get_result(&mut diesel).await.ok()
            }
        };
        let Some(looked) = looked else { return false };
        let asked = "SELECT state = 'idle' FROM pg_stat_activity WHERE pid = $1";
        let is_idle = watcher.query_one(asked, &[&looked.pid]).await.unwrap().get(0);
        is_idle && looked.limit == "0"
    }
}

/// Sends a request to a handler that asks the database and never answers. Its layer cuts it.
async fn cut(pool: &Pool, cap: Duration, statement: &'static str) {
    let pool = pool.clone();
    let handler = service_fn(move |_: Request<()>| {
        let pool = pool.clone();
        async move {
            pool.in_time(statement).await;
            std::future::pending::<Result<Response<String>, Infallible>>().await
        }
    });
    let layer = BudgetLayer::server(Settings::new().cap(cap));
    layer.layer(handler).oneshot(Request::new(())).await.unwrap();
    assert_eq!(layer.stats().exhausted, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_ends_with_its_request() {
    let Some((served, config)) = start_postgres("ends") else {
        return not_run("postgresql");
    };
    for at in 0..3 {
        let mut tasks = JoinSet::new();
        let mut of = "";
        for worker in 0..WORKERS {
            let watcher = connect(&config).await;
            let name = format!("worker-{at}-{worker}");
            let (client, pool) = Pool::all(&config, &served.folder, &name).await[at].clone();
            of = client;
            tasks.spawn(async move {
                let (mut latest, mut slowest) = (Duration::ZERO, Duration::ZERO);
                for turn in 0..250 {
                    let cap =
                        Duration::from_micros(20_000 + (worker * 250 + turn) * 7_919 % 10_000);
                    cut(&pool, cap, "SELECT pg_sleep(10)").await;
                    let (over, mut round) = (MonotonicInstant::now(), MonotonicInstant::now());
                    let asked = "SELECT count(*) FROM pg_stat_activity
                        WHERE application_name = $1 AND state = 'active'";
                    while watcher.query_one(asked, &[&name]).await.unwrap().get::<_, i64>(0) > 0 {
                        sleep(Duration::from_millis(1)).await;
                        slowest = slowest.max(round.elapsed());
                        round = MonotonicInstant::now();
                    }
                    latest = latest.max(over.elapsed());
                }
                (latest, slowest)
            });
        }
        assert_soon(&format!("queries of {of}"), &tasks.join_all().await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_is_dirty_after_a_cut_request() {
    let Some((served, config)) = start_postgres("dirty") else {
        return not_run("postgresql");
    };
    let watcher = connect(&config).await;
    watcher.batch_execute("CREATE TABLE work (id bigint)").await.unwrap();
    for at in 0..3 {
        let mut tasks = JoinSet::new();
        let mut of = "";
        for worker in 0..WORKERS {
            let watcher = connect(&config).await;
            let (client, pool) = Pool::all(&config, &served.folder, "worker").await[at].clone();
            of = client;
            tasks.spawn(async move {
                let mut dirty = 0;
                for turn in 0..CUT / WORKERS {
                    let cap =
                        Duration::from_micros(1_100 + (worker * 2_500 + turn) * 7_919 % 5_000);
                    let statement = "WITH added AS (INSERT INTO work VALUES (1))
                        SELECT pg_sleep(0.02)";
                    cut(&pool, cap, statement).await;
                    dirty += u64::from(!pool.is_clean(&watcher).await);
                }
                dirty
            });
        }
        let dirty: u64 = tasks.join_all().await.iter().sum();
        println!("{of}: {CUT} cut requests, {dirty} dirty connections");
        assert_eq!(dirty, 0, "{of}");
    }
    let rows = watcher.query_one("SELECT count(*) FROM work", &[]).await.unwrap();
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
        return not_run("redis-server");
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
