import { stat } from 'node:fs/promises';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { parseAccessFile } from './access-file.ts';
import { AccessFileError, type AccessFileText, readAccessFile, versionOf } from './access-file-syntax.ts';
import type { Policy } from './policy.ts';

/** The policy of an access file that can change at any time. */
export interface PolicyWatcher {
  /** Returns the policy of the last valid version of the file. */
  current(): Policy;
  /** Checks now whether the file has changed, as every interval does. Never rejects. */
  check(): Promise<void>;
  /** Stops watching the file. */
  close(): void;
}

/** Receives log lines about changes of the file. */
export interface PolicyLog {
  info(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface WatchOptions {
  /** Milliseconds between two checks. Default: 1,000. */
  readonly interval?: number;
  /** How the store compares names. */
  readonly names?: NameComparison;
  /** Called with each new version of the policy. */
  readonly onReload?: (policy: Policy) => void;
}

/**
 * Reads an access file and applies every new valid version within about a second. If the file is invalid or missing,
 * the current policy remains, and all mistakes are logged once. Rejects with `AccessFileError` if there is no usable
 * file at the start.
 */
export async function watchPolicy(
  path: string,
  log: PolicyLog,
  { interval = 1000, names = EXACT_NAMES, onReload = () => {} }: WatchOptions = {},
): Promise<PolicyWatcher> {
  const displayName = `ACCESS_FILE ${path}`;
  const file = await readAccessFile(path, displayName);
  const { policy } = parseAccessFile(file.text, displayName, names);
  return new AccessFileWatcher({ path, displayName, file, policy, log, interval, names, onReload });
}

interface WatcherState extends Required<WatchOptions> {
  readonly path: string;
  /** The name of the file in messages. */
  readonly displayName: string;
  readonly file: AccessFileText;
  readonly policy: Policy;
  readonly log: PolicyLog;
}

class AccessFileWatcher implements PolicyWatcher {
  readonly #options: Omit<WatcherState, 'file' | 'policy'>;
  #policy: Policy;
  /** The file at the last check, valid or not; undefined if it was unreadable. */
  #lastFile: AccessFileText | undefined;
  /** The problems that were logged last, while the file is unusable. */
  #loggedProblems = '';
  /** Checks run one after another, because a network file system can be slow. */
  #checks = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ file, policy, ...options }: WatcherState) {
    this.#options = options;
    this.#policy = policy;
    this.#lastFile = file;
    this.#schedule();
  }

  current(): Policy {
    return this.#policy;
  }

  check(): Promise<void> {
    this.#checks = this.#checks.then(() => this.#checkOnce());
    return this.#checks;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const run = () => void this.check().then(() => this.#isClosed || this.#schedule());
    this.#timer = setTimeout(run, this.#options.interval).unref();
  }

  async #checkOnce(): Promise<void> {
    const version = await stat(this.#options.path, { bigint: true }).then(versionOf, () => undefined);
    const last = this.#lastFile;
    if (version !== undefined && version === last?.version && !last.isFresh) return;
    await this.#reload().catch((error: unknown) => this.#logProblems(error));
  }

  async #reload(): Promise<void> {
    const { path, displayName, names, log, onReload } = this.#options;
    const last = this.#lastFile;
    this.#lastFile = undefined;
    const file = await readAccessFile(path, displayName);
    this.#lastFile = file;
    if (file.text === last?.text) return;
    const { policy, warnings, users, grants } = parseAccessFile(file.text, displayName, names);
    if (this.#isClosed) return;
    this.#policy = policy;
    onReload(policy);
    this.#loggedProblems = '';
    log.info({ file: path, users: users.length, grants: grants.length, warnings }, 'Access file reloaded');
  }

  #logProblems(error: unknown): void {
    const problems = error instanceof AccessFileError ? error.problems : [String(error)];
    const text = problems.join('\n');
    if (this.#isClosed || this.#loggedProblems === text) return;
    this.#loggedProblems = text;
    this.#options.log.error(
      { file: this.#options.path, problems },
      'Access file unusable; previous version remains in effect',
    );
  }
}
