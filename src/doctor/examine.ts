import { randomBytes } from 'node:crypto';
import { type Check, failed, notTried, ok, type Runner, warning } from '../checks/check.ts';
import { nameProbe, removeProbe } from '../checks/probe.ts';
import { readConfig } from '../config/config.ts';
import { findMisspellings } from '../config/environment.ts';
import type { Config } from '../config/settings.ts';
import { createFiles } from '../files/files.ts';
import { SettingsError } from '../settings/setting.ts';
import type { BackendChecks, OpenedStore, StoreSubject } from '../stores/backend.ts';
import type { StoreLog } from '../stores/network.ts';
import { backendOf, openStore } from '../stores/registry.ts';
import { version } from '../system.ts';
import { ADDRESS_CHECKS } from './address.ts';
import { DAV_CHECKS } from './dav.ts';
import { FETCH_CHECKS } from './downloads.ts';
import { CheckRunner, createReport, secretsOf } from './runner.ts';
import { SETTINGS_CHECKS } from './settings.ts';
import { STORE_CHECKS } from './store.ts';
import { UPLOAD_CHECKS } from './uploads.ts';

export interface Examination {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Overrides `PUBLIC_URL`. Without a trailing slash. */
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly json: boolean;
  readonly print: (text: string) => void;
  /** Aborts the checks. The probe is still removed. */
  readonly signal: AbortSignal;
  /** Also aborts the removal. */
  readonly abortRemoval: AbortSignal;
}

/** Runs all checks that apply to the settings and reports the findings. Returns whether none failed. */
export async function examine(examination: Examination): Promise<boolean> {
  const { environment, token, signal } = examination;
  const report = createReport({ ...examination, secrets: secretsOf(environment, token) });
  let config: Config | undefined;
  const runner = new CheckRunner({ report: report.add, signal, isReadOnly: () => config?.READ_ONLY ?? true });
  config = readSettings(environment, runner);
  if (config === undefined) runner.report('store-open', notTried('Requires settings.'));
  else await examineAll(config, runner, examination);
  if (signal.aborted) runner.report('interrupted', notTried('The remaining checks did not run.'));
  return report.end();
}

function readSettings(environment: Examination['environment'], runner: CheckRunner): Config | undefined {
  try {
    const config = readConfig(environment);
    const misspellings = findMisspellings(environment);
    runner.report(
      'settings',
      misspellings.length === 0
        ? ok(`The settings are valid: STORAGE_TYPE=${config.STORAGE_TYPE}.`)
        : warning(misspellings.join(' '), 'Correct the name, or remove the variable.'),
    );
    return config;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.problems)
      runner.report('settings', failed(problem, 'Correct it in .env or in the environment.'));
    return undefined;
  }
}

/** The checks of the configured backend, and what they run with. */
interface StoreExamination {
  readonly runner: Runner;
  readonly checks: BackendChecks<Config>;
  readonly url: string | undefined;
  readonly resources: AsyncDisposableStack;
}

async function examineAll(config: Config, runner: CheckRunner, examination: Examination): Promise<void> {
  await runner.run(SETTINGS_CHECKS, config);
  const checks = await backendOf(config).loadChecks();
  await checks.beforeOpen?.(runner, config);
  const url = examination.url ?? config.PUBLIC_URL;
  await using resources = new AsyncDisposableStack();
  const subject = await openSubject(config, { runner, checks, url, resources });
  const address = url === undefined ? undefined : { config, url, token: examination.token, version };
  try {
    if (subject) {
      await runner.run(STORE_CHECKS, subject);
      await checks.afterOpen?.(runner, subject, resources);
    }
    if (address === undefined) {
      runner.report('url-live', notTried('Neither PUBLIC_URL nor --url is set: the public URL was not checked.'));
    } else {
      await runner.run(ADDRESS_CHECKS, address);
      if (subject) await runner.run([...FETCH_CHECKS, ...UPLOAD_CHECKS, ...DAV_CHECKS], { ...address, ...subject });
    }
  } finally {
    if (subject && !config.READ_ONLY) await removeProbeFolder(subject, runner, examination.abortRemoval);
  }
}

async function openSubject(
  config: Config,
  { runner, checks, url, resources }: StoreExamination,
): Promise<StoreSubject<Config> | undefined> {
  let opened: OpenedStore | undefined;
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const log: StoreLog = { ...SILENT, warn, error: warn };
  const opening: Check<Config> = {
    name: 'store-open',
    ...(checks.requiredToOpen !== undefined && { needs: checks.requiredToOpen }),
    async run(_config, signal) {
      // Uses a temporary signing key, so that opening the store does not create and save one.
      const store = await openStore({ ...config, SIGNING_KEY: config.SIGNING_KEY ?? randomBytes(32) }, log);
      resources.defer(async () => store.store.close?.());
      await store.store.check?.({ signal });
      opened = store;
      return ok(`Opened the store: ${store.name}`);
    },
    explain: (error) => checks.advise(error, config, ['list']),
  };
  await runner.run([opening], config);
  if (opened === undefined) return undefined;
  return {
    settings: config,
    opened,
    store: opened.store,
    files: createFiles(opened.store, {
      presignExpires: config.PRESIGN_EXPIRES,
      // The removal of the probe folder also removes the versions that the service has kept in it.
      retention: { trash: true, versions: true },
    }),
    probe: nameProbe(),
    warnings,
    pageOrigin: url === undefined ? undefined : new URL(url).origin,
    advise: (error, actions) => checks.advise(error, config, actions),
  };
}

/** Milliseconds to wait for timed-out checks, so that they write nothing after the removal. */
const SETTLE_TIMEOUT_MS = 5000;

/** Timeout of the removal, in milliseconds. */
const REMOVAL_TIMEOUT_MS = 60_000;

async function removeProbeFolder(
  { files, probe }: Pick<StoreSubject, 'files' | 'probe'>,
  runner: CheckRunner,
  abortRemoval: AbortSignal,
): Promise<void> {
  if (!abortRemoval.aborted) await runner.settled(SETTLE_TIMEOUT_MS);
  runner.report(
    'probe-removed',
    await removeProbe(files, probe, AbortSignal.any([abortRemoval, AbortSignal.timeout(REMOVAL_TIMEOUT_MS)])),
  );
}

/** Discards the log of the store, because the checks report the problems. */
const SILENT: StoreLog = { info() {}, warn() {}, error() {}, onRetry() {}, onCommit() {} };
