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
  look(): Promise<void>;
  /** Stops watching the file. */
  close(): void;
}

/** Receives log lines about changes of the file. */
export interface PolicyLog {
  info(details: object, message: string): void;
  error(details: object, message: string): void;
}

/**
 * Reads an access file and applies every new valid version within about a second. If the file is invalid or missing,
 * the current policy remains, and all mistakes are logged once. Rejects with `AccessFileError` if there is no usable
 * file at the start. `interval` is in milliseconds; `names` is how the store compares names.
 */
export async function watchPolicy(
  path: string,
  log: PolicyLog,
  { interval = 1000, names = EXACT_NAMES }: { readonly interval?: number; readonly names?: NameComparison } = {},
): Promise<PolicyWatcher> {
  const name = `ACCESS_FILE ${path}`;
  const first = await readAccessFile(path, name);
  let { policy } = parseAccessFile(first.text, name, names);
  /** The file at the last check, valid or not; undefined if it was unreadable. */
  let seen: AccessFileText | undefined = first;
  /** The last message that was logged while the file is unusable. */
  let trouble = '';
  let isClosed = false;

  const takeOver = async (): Promise<void> => {
    const before = seen;
    seen = undefined;
    const found = await readAccessFile(path, name);
    seen = found;
    if (found.text === before?.text) return;
    const { policy: next, notes, people, grants } = parseAccessFile(found.text, name, names);
    if (isClosed) return;
    policy = next;
    trouble = '';
    const details = { file: path, people: people.length, grants: grants.length, notes };
    log.info(details, 'The access file has changed, and what it says now is in force.');
  };

  const tell = (error: unknown): void => {
    const problems = error instanceof AccessFileError ? error.problems : [String(error)];
    if (isClosed || trouble === problems.join('\n')) return;
    trouble = problems.join('\n');
    log.error({ file: path, problems }, 'The access file is not usable now. What it said before stays in force.');
  };

  const lookOnce = async (): Promise<void> => {
    const version = await stat(path, { bigint: true }).then(versionOf, () => undefined);
    if (version !== undefined && version === seen?.version && !seen.isFresh) return;
    await takeOver().catch(tell);
  };

  // Checks run one after another, because a network file system can be slow.
  let looking = Promise.resolve();
  const look = () => (looking = looking.then(lookOnce));
  let timer: NodeJS.Timeout | undefined;
  const lookAgain = () => {
    timer = setTimeout(() => void look().then(() => isClosed || lookAgain()), interval).unref();
  };
  lookAgain();
  return {
    current: () => policy,
    look,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
