//! The native methods of `io.github.unjank.rt.Native`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jni::errors::ErrorPolicy;
use jni::objects::{JClass, JString};
use jni::strings::{JNIStr, JNIString};
use jni::sys::{jboolean, jint, jlong};
use jni::{Env, EnvUnowned, jni_str};
use unjank_host::sched::{Grant, Priority, ThreadId, give_realtime, policy_of, take_realtime};
use unjank_host::{ErrorClass, Nanos, Root, Timestamp};

use crate::error::{Error, Result};
use crate::job::Job;
use crate::layout::Sizes;
use crate::owner::OwnedTask;
use crate::task::Task;

/// Throws the Java exception for an error, and an `InternalError` for a panic,
/// which is a bug in this crate.
struct Throw;

impl<T: Default> ErrorPolicy<T, Error> for Throw {
    type Captures<'local: 'method, 'method> = ();

    fn on_error<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _captures: &mut (),
        error: Error,
    ) -> jni::errors::Result<T> {
        if !env.exception_check() {
            // `throw_new` returns "an exception is pending", as intended.
            let _pending = env.throw_new(exception(&error), JNIString::from(error.to_string()));
        }
        Ok(T::default())
    }

    fn on_panic<'local: 'method, 'method>(
        env: &mut Env<'local>,
        _captures: &mut (),
        _payload: Box<dyn std::any::Any + Send>,
    ) -> jni::errors::Result<T> {
        let _pending = env.throw_new(
            jni_str!("java/lang/InternalError"),
            jni_str!("a bug in the native half of unjank-rt: see standard error"),
        );
        Ok(T::default())
    }
}

fn exception(error: &Error) -> &'static JNIStr {
    match error {
        Error::Invalid(_) => jni_str!("java/lang/IllegalArgumentException"),
        Error::Host(error) if error.is_not_found() => {
            jni_str!("java/lang/IllegalThreadStateException")
        }
        Error::Host(error) => match error.class() {
            ErrorClass::Usage => jni_str!("java/lang/IllegalArgumentException"),
            ErrorClass::Unsupported => jni_str!("java/lang/UnsupportedOperationException"),
            ErrorClass::Permission => {
                jni_str!("io/github/unjank/rt/RealtimePermissionException")
            }
            ErrorClass::Interrupted | ErrorClass::Other => {
                jni_str!("java/lang/IllegalStateException")
            }
        },
        Error::Failed(_) | Error::Jni(_) => jni_str!("java/lang/IllegalStateException"),
    }
}

/// The tasks of this JVM by their handles. A handle of a closed task is an error
/// instead of undefined behaviour.
static TASKS: Mutex<Option<Tasks>> = Mutex::new(None);

#[derive(Default)]
struct Tasks {
    last: jlong,
    by_handle: HashMap<jlong, OwnedTask>,
}

fn tasks() -> MutexGuard<'static, Option<Tasks>> {
    TASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_task<T>(handle: jlong, ask: impl FnOnce(&mut OwnedTask) -> T) -> Result<T> {
    let mut tasks = tasks();
    let owned = tasks.as_mut().and_then(|tasks| tasks.by_handle.get_mut(&handle));
    owned.map(ask).ok_or_else(|| Error::Failed("this task is closed".to_owned()))
}

/// A thread by its number from Java; 0 is the caller.
fn thread(number: jint) -> Result<ThreadId> {
    match u32::try_from(number) {
        Ok(0) => Ok(ThreadId::current()),
        Ok(number) => Ok(ThreadId(number)),
        Err(_) => Err(Error::Invalid(format!("{number} is not a thread number"))),
    }
}

fn grant(priority: jint, longest_run: jlong, force: jboolean) -> Result<Grant> {
    let number = u8::try_from(priority).unwrap_or(0);
    Ok(Grant {
        priority: Priority::new(number)?,
        longest_run: nanos(longest_run, "the longest run")?,
        force,
    })
}

fn nanos(value: jlong, what: &str) -> Result<Nanos> {
    u64::try_from(value)
        .ok()
        .filter(|&nanos| nanos > 0)
        .map(Nanos)
        .ok_or_else(|| Error::Invalid(format!("{what} of {value} ns is not above zero")))
}

fn size(value: jint) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// `static native int threadId()`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_threadId(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
) -> jint {
    ThreadId::current().0 as jint
}

/// `static native long clock()`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_clock(
    _env: EnvUnowned<'_>,
    _class: JClass<'_>,
) -> jlong {
    Timestamp::now().as_nanos() as jlong
}

/// `static native void beRealtime(int thread, int priority, long longestRun, boolean force)`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_beRealtime(
    mut env: EnvUnowned<'_>,
    _class: JClass<'_>,
    number: jint,
    priority: jint,
    longest_run: jlong,
    force: jboolean,
) {
    env.with_env(|_| -> Result<()> {
        let grant = grant(priority, longest_run, force)?;
        Ok(give_realtime(&Root::system(), thread(number)?, grant)?)
    })
    .resolve::<Throw>();
}

/// `static native void beOrdinary(int thread)`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_beOrdinary(
    mut env: EnvUnowned<'_>,
    _class: JClass<'_>,
    number: jint,
) {
    env.with_env(|_| -> Result<()> { Ok(take_realtime(thread(number)?)?) }).resolve::<Throw>();
}

/// `static native String policy(int thread)`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_policy<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    number: jint,
) -> JString<'local> {
    env.with_env(|env| -> Result<JString<'local>> {
        let (policy, _) = policy_of(thread(number)?)?;
        Ok(JString::from_str(env, policy.to_string())?)
    })
    .resolve::<Throw>()
}

/// `static native long openTask(String name, long period, long periods, int priority,
/// long longestRun, boolean force, int slotsOut, int slotsIn, int message,
/// String library, String symbol, String program)`. Priority 0 means an ordinary
/// thread, an empty library a task that reports, an empty program a thread.
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_openTask<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    name: JString<'local>,
    period: jlong,
    periods: jlong,
    priority: jint,
    longest_run: jlong,
    force: jboolean,
    slots_out: jint,
    slots_in: jint,
    message: jint,
    library: JString<'local>,
    symbol: JString<'local>,
    program: JString<'local>,
) -> jlong {
    env.with_env(|env| -> Result<jlong> {
        let library = library.try_to_string(env)?;
        let job = if library.is_empty() {
            Job::Report
        } else {
            Job::Call { library: library.into(), symbol: symbol.try_to_string(env)? }
        };
        let realtime = match priority {
            0 => None,
            priority => Some(grant(priority, longest_run, force)?),
        };
        let task = Task {
            name: name.try_to_string(env)?,
            period: nanos(period, "a period")?,
            realtime,
            periods: u64::try_from(periods).unwrap_or(0),
            job,
        };
        let sizes =
            Sizes { slots_out: size(slots_out), slots_in: size(slots_in), message: size(message) };
        let program = Some(program.try_to_string(env)?).filter(|path| !path.is_empty());
        let owned = OwnedTask::open(task, sizes, program.map(Into::into))?;
        let mut tasks = tasks();
        let tasks = tasks.get_or_insert_default();
        tasks.last += 1;
        tasks.by_handle.insert(tasks.last, owned);
        Ok(tasks.last)
    })
    .resolve::<Throw>()
}

/// `static native int taskDescriptor(long task)`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_taskDescriptor(
    mut env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jint {
    env.with_env(|_| with_task(handle, |owned| owned.descriptor())).resolve::<Throw>()
}

/// `static native int taskProcess(long task)`: 0 for a thread of this process.
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_taskProcess(
    mut env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jint {
    env.with_env(|_| with_task(handle, |owned| owned.process().unwrap_or(0) as jint))
        .resolve::<Throw>()
}

/// `static native boolean taskAlive(long task)`
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_taskAlive(
    mut env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
) -> jboolean {
    env.with_env(|_| with_task(handle, OwnedTask::is_alive)).resolve::<Throw>()
}

/// `static native boolean closeTask(long task, long longest)`: returns whether the
/// task has ended; true for a closed handle.
#[unsafe(no_mangle)]
extern "system" fn Java_io_github_unjank_rt_Native_closeTask(
    mut env: EnvUnowned<'_>,
    _class: JClass<'_>,
    handle: jlong,
    longest: jlong,
) -> jboolean {
    env.with_env(|_| -> Result<bool> {
        // Removed first, so that other tasks are not blocked while this one ends.
        let owned = tasks().as_mut().and_then(|tasks| tasks.by_handle.remove(&handle));
        let longest = Nanos(u64::try_from(longest).unwrap_or(0));
        Ok(owned.is_none_or(|mut owned| owned.close(longest)))
    })
    .resolve::<Throw>()
}
