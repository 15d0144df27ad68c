import { randomBytes } from 'node:crypto';
import { type Config, readConfig, SettingsError } from '../config/config.ts';
import { createFiles } from '../files/files.ts';
import { bucketOptions, type OpenedStore, openStore } from '../stores/create.ts';
import type { StoreLog } from '../stores/network.ts';
import { ADDRESS_CHECKS } from './address.ts';
import { adviceFor } from './advice.ts';
import { type Check, createRunner, failed, notTried, ok, type Runner } from './check.ts';
import { DISK_CHECKS, ROOT_CHECKS } from './disk.ts';
import { FETCH_CHECKS } from './downloads.ts';
import { nameProbe, removeProbe } from './probe.ts';
import { createReport, secretsOf } from './report.ts';
import { SETTINGS_CHECKS } from './settings.ts';
import { STORE_CHECKS, type StoreSubject } from './store.ts';
import { UPLOAD_CHECKS } from './uploads.ts';

export interface Examination {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Overrides `PUBLIC_URL`. Without a trailing slash. */
  readonly url: string | undefined;
  readonly token: string | undefined;
  readonly json: boolean;
  readonly version: string;
  readonly print: (text: string) => void;
  /** Aborts the checks. The probe is still removed. */
  readonly signal: AbortSignal;
  /** Also aborts the removal. */
  readonly impatient: AbortSignal;
}

/** Runs all checks that apply to the settings and reports the findings. Returns whether none failed. */
export async function examine(examination: Examination): Promise<boolean> {
  const { environment, token, signal } = examination;
  const report = createReport({ ...examination, secrets: secretsOf(environment, token) });
  let config: Config | undefined;
  const runner = createRunner({ tell: report.tell, signal, readOnly: () => config?.READ_ONLY ?? true });
  config = readSettings(environment, runner);
  if (config === undefined) runner.tell('store-open', notTried('It needs settings.'));
  else await examineAll(config, runner, examination);
  if (signal.aborted) runner.tell('interrupted', notTried('What would have followed.'));
  return report.end();
}

function readSettings(environment: Examination['environment'], runner: Runner): Config | undefined {
  try {
    const config = readConfig(environment);
    runner.tell('settings', ok(`The settings are right: STORAGE_TYPE=${config.STORAGE_TYPE}.`));
    return config;
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    for (const problem of error.problems)
      runner.tell('settings', failed(problem, 'Correct it in .env or in the environment.'));
    return undefined;
  }
}

async function examineAll(config: Config, runner: Runner, examination: Examination): Promise<void> {
  await runner.run(SETTINGS_CHECKS, config);
  await runner.run(ROOT_CHECKS, config);
  const url = examination.url ?? config.PUBLIC_URL;
  await using resources = new AsyncDisposableStack();
  const subject = await openSubject(config, runner, resources);
  const address =
    url === undefined ? undefined : { config, url, token: examination.token, version: examination.version };
  try {
    if (subject) await examineStore(subject, url, runner, resources);
    if (address === undefined) {
      runner.tell(
        'url-live',
        notTried('Neither PUBLIC_URL nor --url says where people reach the service: nothing of it was looked at.'),
      );
    } else {
      await runner.run(ADDRESS_CHECKS, address);
      if (subject) await runner.run([...FETCH_CHECKS, ...UPLOAD_CHECKS], { ...address, ...subject });
    }
  } finally {
    if (subject && !config.READ_ONLY) await clearAway(subject, runner, examination.impatient);
  }
}

async function openSubject(
  config: Config,
  runner: Runner,
  resources: AsyncDisposableStack,
): Promise<StoreSubject | undefined> {
  let opened: OpenedStore | undefined;
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const log: StoreLog = { ...SILENT, warn, error: warn };
  const opening: Check<{ config: Config }> = {
    name: 'store-open',
    ...(config.STORAGE_TYPE === 'disk' && { needs: 'disk-root' }),
    async run(_subject, signal) {
      // Uses a temporary signing key, so that opening the store does not create and save one.
      const store = await openStore({ ...config, SIGNING_KEY: config.SIGNING_KEY ?? randomBytes(32) }, log);
      resources.defer(async () => store.store.close?.());
      await store.store.check?.({ signal });
      opened = store;
      return ok(`The store can be used: ${store.name}`);
    },
    explain: adviceFor('s3:ListBucket'),
  };
  await examineClock(config, runner);
  await runner.run([opening], { config });
  if (opened === undefined) return undefined;
  const files = createFiles(opened.store, { presignExpires: config.PRESIGN_EXPIRES });
  return { config, opened, store: opened.store, files, probe: nameProbe(), warnings };
}

/** Checks the clock first, because a wrong clock can cause all later failures. */
async function examineClock(config: Config, runner: Runner): Promise<void> {
  if (!isBucket(config)) return;
  const { CLOCK_CHECK } = await import('./bucket.ts');
  const origin = new URL(config.S3_ENDPOINT ?? `https://s3.${config.S3_REGION}.amazonaws.com`).origin;
  await runner.run([CLOCK_CHECK], { config, origin, bucket: config.S3_BUCKET ?? '' });
}

async function examineStore(
  subject: StoreSubject,
  url: string | undefined,
  runner: Runner,
  resources: AsyncDisposableStack,
): Promise<void> {
  const { config } = subject;
  await runner.run(STORE_CHECKS, subject);
  await runner.run(DISK_CHECKS, subject);
  if (isBucket(config)) {
    const { BUCKET_CHECKS } = await import('./bucket.ts');
    const { connect } = await import('../stores/s3/bucket.ts');
    const bucket = resources.adopt(connect(bucketOptions(config, SILENT)), ({ close }) => close());
    await runner.run(BUCKET_CHECKS, { ...subject, bucket, pageOrigin: url && new URL(url).origin });
  }
  if (config.STORAGE_TYPE === 'github') {
    const { REPOSITORY_CHECKS } = await import('./repository.ts');
    await runner.run(REPOSITORY_CHECKS, subject);
  }
}

/** Milliseconds to wait for timed-out checks, so that they write nothing after the removal. */
const SETTLING = 5000;

/** Timeout of the removal, in milliseconds. */
const REMOVING = 60_000;

async function clearAway({ files, probe }: StoreSubject, runner: Runner, impatient: AbortSignal): Promise<void> {
  if (!impatient.aborted) await runner.settled(SETTLING);
  runner.tell(
    'probe-removed',
    await removeProbe(files, probe, AbortSignal.any([impatient, AbortSignal.timeout(REMOVING)])),
  );
}

const isBucket = ({ STORAGE_TYPE }: Config) => STORAGE_TYPE === 's3' || STORAGE_TYPE === 'r2';

/** Discards the log of the store, because the checks report the problems. */
const SILENT: StoreLog = { info() {}, warn() {}, error() {}, retried() {}, committed() {} };
