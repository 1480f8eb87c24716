/* A fake NVML driver: a GPU whose power follows a known waveform, and a second one that idles. For tests only; it
 * measures nothing.
 *
 * Settings are "key=value" pairs, comma-separated, in the environment variable FAKE_NVML or given to
 * fake_nvml_configure (which starts from the defaults) and fake_nvml_set (which changes one). The table at
 * `settings` lists them all. The energy counter moves every tick_s seconds to the exact integral of the power up
 * to counter_lag_s before that tick, in whole millijoules. The power sensor shows the mean over the last
 * sensor_window_s of each sensor_period_s.
 *
 * NVML lists the idle card first where idle_first=1, as it lists cards in another order than CUDA does. With mig=1 the
 * first card is divided, and a UUID of one of its parts is known, too.
 *
 * Time is CLOCK_MONOTONIC times `speed`, or with virtual=1 a number that only fake_nvml_advance and the calls
 * themselves (call_s each, give or take half) move: then every run is the same.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };
enum { CONSTANT = 0, STEPS = 1, RAMP = 2, SPIKES = 3, LOAD = 4 };

static double waveform, low_watts, high_watts, period_s, duty, tick_s, tick_phase_s, tick_jitter, counter_lag_s;
static double sensor_period_s, sensor_window_s, sensor_gain, has_instant;
static double virtual_time, call_s, speed;
static double no_driver, no_counter, mig, vgpu, stuck_at_s, backwards_at_s, vanish_at_s;
static double own_listed, host_pids, own_bytes, other_processes, other_bytes, foreign_bytes, no_process_list;
static double clock_reasons, slowed_s, power_limit_watts, sm_hz, memory_hz, celsius, old_driver;
static double no_permission, no_process_permission, idle_watts, idle_first;

/* The waveforms, all between low_watts and high_watts: constant (high), steps (high for `duty` of each period),
 * ramp (rises over the period, falls at once), spikes (steps with a small duty), load (high while fake_nvml_load(1)). */
static struct { const char *key; double *value; double initial; } settings[] = {
    {"waveform", &waveform, CONSTANT}, {"low_watts", &low_watts, 100}, {"high_watts", &high_watts, 300},
    {"period_s", &period_s, 0.7}, {"duty", &duty, 0.5}, {"tick_s", &tick_s, 0.1},
    {"tick_phase_s", &tick_phase_s, 0.013}, {"tick_jitter", &tick_jitter, 0}, {"counter_lag_s", &counter_lag_s, 0},
    {"sensor_period_s", &sensor_period_s, 0.1}, {"sensor_window_s", &sensor_window_s, 0.025},
    {"sensor_gain", &sensor_gain, 1}, {"has_instant", &has_instant, 1}, {"virtual", &virtual_time, 0},
    {"call_s", &call_s, 4e-5}, {"speed", &speed, 1}, {"no_driver", &no_driver, 0}, {"no_counter", &no_counter, 0},
    {"mig", &mig, 0}, {"vgpu", &vgpu, 0}, {"stuck_at_s", &stuck_at_s, 1e18},
    {"backwards_at_s", &backwards_at_s, 1e18}, {"vanish_at_s", &vanish_at_s, 1e18}, {"own_listed", &own_listed, 1},
    {"host_pids", &host_pids, 0}, {"own_bytes", &own_bytes, 3e9}, {"other_processes", &other_processes, 0},
    {"other_bytes", &other_bytes, 2e9}, {"foreign_bytes", &foreign_bytes, 0},
    {"no_process_list", &no_process_list, 0}, {"clock_reasons", &clock_reasons, 0},
    {"slowed_s", &slowed_s, 0}, {"power_limit_watts", &power_limit_watts, 700}, {"sm_hz", &sm_hz, 1.7e9},
    {"memory_hz", &memory_hz, 2.6e9}, {"celsius", &celsius, 50}, {"old_driver", &old_driver, 0},
    {"no_permission", &no_permission, 0}, {"no_process_permission", &no_process_permission, 0},
    {"idle_watts", &idle_watts, 40}, {"idle_first", &idle_first, 0},
};
#define SETTINGS (sizeof settings / sizeof settings[0])
#define SWITCHES 4096

static const char *UUID = "GPU-fa4e0000-0000-4000-8000-000000000001";
static const char *IDLE_UUID = "GPU-fa4e0000-0000-4000-8000-000000000002";
static const char *MIG_UUID = "MIG-fa4e0000-0000-4000-8000-0000000000a1";
static double virtual_now_s, counted = -INFINITY;
static uint32_t noise = 1;
static int users, switches;
static double switched_s[SWITCHES]; /* load on, off, on, ... */

/* ---- settings and time ---- */

int fake_nvml_set(const char *key, double value) {
    for (size_t i = 0; i < SETTINGS; i++)
        if (!strcmp(settings[i].key, key)) { *settings[i].value = value; return 0; }
    fprintf(stderr, "fake_nvml: there is no setting '%s'\n", key);
    return -1;
}

int fake_nvml_configure(const char *text) {
    for (size_t i = 0; i < SETTINGS; i++) *settings[i].value = settings[i].initial;
    virtual_now_s = 0; noise = 1; switches = 0; counted = -INFINITY;
    char copy[2048], *rest = copy, *pair;
    if (snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy) return -1;
    while ((pair = strsep(&rest, ",")))
        if (*pair) {
            char *equals = strchr(pair, '=');
            if (!equals) { fprintf(stderr, "fake_nvml: '%s' is not key=value\n", pair); return -1; }
            *equals = 0;
            if (fake_nvml_set(pair, atof(equals + 1))) return -1;
        }
    return 0;
}

__attribute__((constructor)) static void from_environment(void) {
    const char *text = getenv("FAKE_NVML");
    if (fake_nvml_configure(text ? text : "")) abort();
}

double fake_nvml_now(void) {
    if (virtual_time) return virtual_now_s;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec + now.tv_nsec * 1e-9) * speed;
}

void fake_nvml_advance(double seconds) { virtual_now_s += seconds; }

static double called(void) { /* the time of this call, in the middle of what it takes */
    noise = noise * 1664525u + 1013904223u;
    double takes_s = call_s * (0.5 + noise / 4294967296.0);
    if (virtual_time) virtual_now_s += takes_s / 2;
    double now = fake_nvml_now();
    if (virtual_time) virtual_now_s += takes_s / 2;
    return now;
}

/* ---- the waveform ---- */

void fake_nvml_load(int on) {
    if ((switches & 1) != !!on && switches < SWITCHES) switched_s[switches++] = fake_nvml_now();
}

double fake_nvml_watts(double at_s) {
    double phase = fmod(at_s, period_s) / period_s;
    int on = 0;
    switch ((int)waveform) {
    case CONSTANT: return high_watts;
    case STEPS: case SPIKES: return phase < duty ? high_watts : low_watts;
    case RAMP: return low_watts + (high_watts - low_watts) * phase;
    default:
        for (int i = 0; i < switches && switched_s[i] <= at_s; i++) on = !on;
        return on ? high_watts : low_watts;
    }
}

static double joules_until(double at_s) {
    double extra = high_watts - low_watts, periods = floor(at_s / period_s), phase = at_s / period_s - periods, on_s = 0;
    switch ((int)waveform) {
    case CONSTANT: return high_watts * at_s;
    case STEPS: case SPIKES:
        return low_watts * at_s + extra * period_s * (periods * duty + fmin(phase, duty));
    case RAMP: return low_watts * at_s + extra * period_s * (periods / 2 + phase * phase / 2);
    default:
        for (int i = 0; i < switches && switched_s[i] < at_s; i += 2)
            on_s += (i + 1 < switches ? fmin(switched_s[i + 1], at_s) : at_s) - switched_s[i];
        return low_watts * at_s + extra * on_s;
    }
}

double fake_nvml_joules(double begin_s, double end_s) { return joules_until(end_s) - joules_until(begin_s); }

static double tick_time(double n) { /* when tick n falls; its jitter is a fixed pseudo-random share of the tick */
    uint32_t hash = (uint32_t)(int64_t)n * 2654435761u;
    hash ^= hash >> 15; hash *= 2246822519u; hash ^= hash >> 13;
    return tick_phase_s + tick_s * (n + tick_jitter * (hash / 4294967296.0 - 0.5));
}

static double counter_joules(double now_s) {
    double n = floor((now_s - tick_phase_s) / tick_s) + 1;
    while (tick_time(n) > now_s) n--;
    return joules_until(tick_time(n) - counter_lag_s);
}

static double sensor_watts(const void *device, double now_s, double window_s) {
    if (device == IDLE_UUID) return idle_watts;
    double end_s = floor(now_s / sensor_period_s) * sensor_period_s;
    return sensor_gain * fake_nvml_joules(end_s - window_s, end_s) / window_s;
}

/* ---- NVML ---- */

typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; } process_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
typedef struct {
    unsigned field, scope; long long timestamp, latency; unsigned type; int result;
    union { double d; unsigned ui; unsigned long long ull; } value;
} field_t;

static int gone(const void *device) { /* the state of the driver for a call on a device */
    if (!users) return UNINITIALIZED;
    if (called() >= vanish_at_s) return GPU_IS_LOST;
    return device == UUID || device == IDLE_UUID || device == MIG_UUID ? SUCCESS : INVALID_ARGUMENT;
}
#define ALIVE(device) do { int state = gone(device); if (state) return state; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; if (no_driver) return DRIVER_NOT_LOADED; users++; return SUCCESS; }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { if (!users) return UNINITIALIZED; users--; return SUCCESS; }
int fake_nvml_users(void) { return users; }

const char *nvmlErrorString(int result) { return result == SUCCESS ? "The operation was successful" : "Fake error"; }

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    if (!users) return UNINITIALIZED;
    snprintf(version, length, "000.00-fake");
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, const void **device) {
    if (!users) return UNINITIALIZED;
    if (!strcmp(uuid, UUID)) *device = UUID;
    else if (!strcmp(uuid, IDLE_UUID)) *device = IDLE_UUID;
    else if (mig && !strcmp(uuid, MIG_UUID)) *device = MIG_UUID;
    else return NOT_FOUND;
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    if (!users) return UNINITIALIZED;
    *count = 2;
    return SUCCESS;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void **device) {
    if (!users) return UNINITIALIZED;
    if (index > 1) return INVALID_ARGUMENT;
    *device = index == !!idle_first ? UUID : IDLE_UUID;
    return SUCCESS;
}
int nvmlDeviceGetName(const void *device, char *name, unsigned length) {
    ALIVE(device);
    snprintf(name, length, "Fake GPU");
    return SUCCESS;
}
int nvmlDeviceGetArchitecture(const void *device, unsigned *architecture) {
    ALIVE(device);
    *architecture = 9; /* Hopper */
    return SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(const void *device, unsigned long long *millijoules) {
    ALIVE(device);
    if (no_permission) return NO_PERMISSION;
    if (no_counter) return NOT_SUPPORTED;
    if (device == IDLE_UUID) {
        *millijoules = (unsigned long long)((1e6 + idle_watts * tick_time(floor((fake_nvml_now() - tick_phase_s) / tick_s))) * 1000);
        return SUCCESS;
    }
    double now = fake_nvml_now() < stuck_at_s ? fake_nvml_now() : stuck_at_s;
    counted = fmax(counted, counter_joules(now)); /* a tick that is set longer stands until its next */
    double joules = 5e6 + counted - (fake_nvml_now() >= backwards_at_s ? 4e6 : 0);
    *millijoules = (unsigned long long)(joules * 1000);
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(const void *device, unsigned *milliwatts) { /* the mean of a second, as on Ampere and newer */
    ALIVE(device);
    *milliwatts = (unsigned)(sensor_watts(device, fake_nvml_now(), 1) * 1000);
    return SUCCESS;
}

int nvmlDeviceGetFieldValues(const void *device, int count, field_t *fields) {
    ALIVE(device);
    if (no_permission) return NO_PERMISSION;
    for (int i = 0; i < count && old_driver; i++) if (fields[i].field > 250) return INVALID_ARGUMENT;
    for (int i = 0; i < count; i++) {
        fields[i].result = SUCCESS;
        if (fields[i].field == 186 && has_instant) { /* NVML_FI_DEV_POWER_INSTANT */
            fields[i].type = 1; /* unsigned int */
            fields[i].value.ui = (unsigned)(sensor_watts(device, fake_nvml_now(), sensor_window_s) * 1000);
        } else if (fields[i].field == 269 && !old_driver) { /* NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN */
            fields[i].type = 3; /* unsigned long long, nanoseconds */
            fields[i].value.ull = (unsigned long long)(slowed_s * 1e9);
        } else fields[i].result = NOT_SUPPORTED;
    }
    return SUCCESS;
}

int nvmlDeviceGetEnforcedPowerLimit(const void *device, unsigned *milliwatts) {
    ALIVE(device);
    *milliwatts = (unsigned)(power_limit_watts * 1000);
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksEventReasons(const void *device, unsigned long long *reasons) {
    ALIVE(device);
    *reasons = (unsigned long long)clock_reasons;
    return SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(const void *device, unsigned long long *reasons) {
    return nvmlDeviceGetCurrentClocksEventReasons(device, reasons);
}

int nvmlDeviceGetComputeRunningProcesses_v3(const void *device, unsigned *count, process_t *processes) {
    ALIVE(device);
    if (no_process_permission) return NO_PERMISSION;
    if (no_process_list) return NOT_SUPPORTED;
    if (device == IDLE_UUID) { *count = 0; return SUCCESS; }
    unsigned there = (own_listed ? 1 : 0) + (unsigned)other_processes, room = *count;
    *count = there;
    if (there > room) return INSUFFICIENT_SIZE;
    unsigned filled = 0;
    if (own_listed) {
        unsigned pid = (unsigned)getpid() + (host_pids ? 5000000 : 0); /* above any PID of this machine */
        processes[filled++] = (process_t){pid, own_bytes < 0 ? ~0ull : (unsigned long long)own_bytes, 0, 0};
    }
    while (filled < there) {
        processes[filled] = (process_t){6000000 + filled, (unsigned long long)other_bytes, 0, 0};
        filled++;
    }
    return SUCCESS;
}

static unsigned long long used_bytes(const void *device) {
    if (device == IDLE_UUID) return 100000000;
    return (unsigned long long)(fabs(own_bytes) + other_processes * other_bytes + foreign_bytes + 1e8);
}
int nvmlDeviceGetMemoryInfo(const void *device, memory_t *memory) {
    ALIVE(device);
    *memory = (memory_t){80000000000ull, 80000000000ull - used_bytes(device), used_bytes(device)};
    return SUCCESS;
}
int nvmlDeviceGetMemoryInfo_v2(const void *device, memory_v2_t *memory) {
    ALIVE(device);
    *memory = (memory_v2_t){memory->version, 80000000000ull, 600000000, 79400000000ull - used_bytes(device), used_bytes(device)};
    return SUCCESS;
}

int nvmlDeviceGetMigMode(const void *device, unsigned *current, unsigned *pending) {
    ALIVE(device);
    *current = *pending = (unsigned)mig;
    return SUCCESS;
}
int nvmlDeviceGetVirtualizationMode(const void *device, unsigned *mode) {
    ALIVE(device);
    *mode = vgpu ? 2 : 0;
    return SUCCESS;
}
int nvmlDeviceGetClockInfo(const void *device, unsigned type, unsigned *megahertz) {
    ALIVE(device);
    *megahertz = (unsigned)((type == 2 ? memory_hz : sm_hz) / 1e6);
    return SUCCESS;
}
int nvmlDeviceGetTemperature(const void *device, unsigned sensor, unsigned *degrees) {
    (void)sensor;
    ALIVE(device);
    *degrees = (unsigned)celsius;
    return SUCCESS;
}
typedef struct { unsigned version, sensor; int degrees; } temperature_t;
int nvmlDeviceGetTemperatureV(const void *device, temperature_t *temperature) {
    ALIVE(device);
    if (old_driver) return NOT_SUPPORTED;
    temperature->degrees = (int)celsius;
    return SUCCESS;
}
