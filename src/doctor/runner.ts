import { setTimeout as delay } from 'node:timers/promises';
import { type Check, type Finding, failed, notTried, type Runner } from '../checks/check.ts';
import { untilAborted } from '../concurrency/single-flight.ts';
import { readText } from '../config/environment.ts';
import { SETTINGS, type SettingName } from '../config/settings.ts';
import { messageWithCause } from '../model/error.ts';
import type { Setting } from '../settings/setting.ts';
import { commit, version, versionAndCommit } from '../system.ts';

export interface RunnerOptions {
  readonly report: (name: string, finding: Finding) => void;
  /** Returns whether to skip checks that write. */
  readonly isReadOnly: () => boolean;
  readonly signal: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/** Runs checks and reports their findings. */
export class CheckRunner implements Runner {
  readonly #options: RunnerOptions;
  readonly #succeeded = new Set<string>();
  /** Checks that have not ended, also after their timeout. */
  readonly #pending = new Set<Promise<unknown>>();

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  async run<Subject>(checks: readonly Check<Subject>[], subject: Subject): Promise<void> {
    for (const check of checks) {
      if (this.#options.signal.aborted) return;
      if (check.concerns?.(subject) ?? true) this.report(check.name, await this.#attempt(check, subject));
    }
  }

  /** Reports a finding, also one that does not come from a list of checks. */
  report(name: string, finding: Finding): void {
    if (finding.status === 'ok' || finding.status === 'warning') this.#succeeded.add(name);
    this.#options.report(name, finding);
  }

  /** Resolves when all timed-out checks have ended, or after `milliseconds`. */
  async settled(milliseconds: number): Promise<void> {
    const finished = new AbortController();
    const timeout = delay(milliseconds, undefined, { signal: finished.signal }).catch(() => {});
    await Promise.race([Promise.all(this.#pending), timeout]);
    finished.abort();
  }

  async #attempt<Subject>(check: Check<Subject>, subject: Subject): Promise<Finding> {
    if (check.needs !== undefined && !this.#succeeded.has(check.needs)) return notTried(`Requires ${check.needs}.`);
    if (check.writes && this.#options.isReadOnly()) return notTried('READ_ONLY=true: the doctor writes nothing.');
    const { timeout = DEFAULT_TIMEOUT_MS } = check;
    const deadline = new AbortController();
    // With this name, the advice is that for a network timeout.
    const timer = setTimeout(() => deadline.abort(new DOMException('Timed out.', 'TimeoutError')), timeout);
    const signal = AbortSignal.any([this.#options.signal, deadline.signal]);
    try {
      // Some operations ignore the signal, such as system calls on a disk that does not respond.
      return await untilAborted(this.#track(check.run(subject, signal)), signal);
    } catch (error) {
      if (this.#options.signal.aborted) return notTried('Interrupted.');
      const found = deadline.signal.aborted ? `Timed out after ${timeout / 1000} seconds.` : messageOf(error);
      return failed(found, check.explain(error, subject));
    } finally {
      clearTimeout(timer);
    }
  }

  #track(work: Promise<Finding>): Promise<Finding> {
    const tracked: Promise<unknown> = work.then(
      () => this.#pending.delete(tracked),
      () => this.#pending.delete(tracked),
    );
    this.#pending.add(tracked);
    return work;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? messageWithCause(error) : String(error);
}

/** Report of the findings, as text or as JSON. */
export interface Report {
  add(name: string, finding: Finding): void;
  /** Prints the summary, and returns whether no check failed. */
  end(): boolean;
}

export interface ReportOptions {
  readonly json: boolean;
  readonly print: (text: string) => void;
  /** Texts to redact everywhere. */
  readonly secrets: readonly string[];
}

export function createReport({ json, print, secrets }: ReportOptions): Report {
  const findings: (Finding & { readonly check: string })[] = [];
  const redact = (text: string) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), text).replaceAll(CONTROLS, ' ');
  const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length;

  if (!json) print(`Holdall ${versionAndCommit}, Node.js ${process.versions.node}\n`);
  return {
    add(check, { status, found, advice }) {
      const redacted = { check, status, found: redact(found), ...(advice !== undefined && { advice: redact(advice) }) };
      findings.push(redacted);
      if (!json) print(describe(redacted));
    },

    end() {
      const hasPassed = count('failed') === 0;
      if (json) {
        print(
          `${JSON.stringify({ version, commit, node: process.versions.node, success: hasPassed, findings }, undefined, 2)}\n`,
        );
      } else {
        const warnings = count('warning');
        print(
          `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count('failed')} failed, ${count('not tried')} not tried.\n`,
        );
      }
      return hasPassed;
    },
  };
}

/** Text from other systems might contain control characters, which terminals interpret. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]+/g;

const STATUS_WIDTH = 'not tried'.length + 2;
const NAME_WIDTH = 21;

function describe({ check, status, found, advice }: Finding & { readonly check: string }): string {
  const line = `${status.padEnd(STATUS_WIDTH)}${check.padEnd(NAME_WIDTH)}${found}\n`;
  return advice === undefined ? line : `${line}${' '.repeat(STATUS_WIDTH + NAME_WIDTH)}To do: ${advice}\n`;
}

/** Minimum length of a secret to redact. A shorter one also occurs in unrelated words. */
const MIN_SECRET_LENGTH = 6;

/** Returns `token` and the values of secret settings, if they are long enough to redact. */
export function secretsOf(
  environment: Readonly<Record<string, string | undefined>>,
  token: string | undefined,
): readonly string[] {
  const names = (Object.keys(SETTINGS) as SettingName[]).filter((name) => {
    const setting: Setting<unknown> = SETTINGS[name];
    return setting.isSecret;
  });
  const texts = names.flatMap((name) => {
    const reading = readText(environment, name);
    return [environment[name], environment[`HOLDALL_${name}`], 'problem' in reading ? undefined : reading.text];
  });
  return [token, ...texts].filter((secret) => secret !== undefined && secret.length >= MIN_SECRET_LENGTH) as string[];
}
