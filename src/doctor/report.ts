import type { Finding } from '../checks/check.ts';
import { SETTINGS } from '../config/settings.ts';
import type { Setting } from '../settings/setting.ts';

/** Report of the findings, as text or as JSON. */
export interface Report {
  add(name: string, finding: Finding): void;
  /** Prints the summary, and returns whether no check failed. */
  end(): boolean;
}

export interface ReportOptions {
  readonly json: boolean;
  readonly print: (text: string) => void;
  readonly version: string;
  /** Texts to redact everywhere. */
  readonly secrets: readonly string[];
}

export function createReport({ json, print, version, secrets }: ReportOptions): Report {
  const findings: (Finding & { readonly check: string })[] = [];
  const redact = (text: string) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '(secret)'), text).replaceAll(CONTROLS, ' ');
  const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length;

  if (!json) print(`Holdall ${version}, Node.js ${process.versions.node}\n`);
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
          `${JSON.stringify({ version, node: process.versions.node, success: hasPassed, findings }, undefined, 2)}\n`,
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

/** Text from other systems may contain control characters, which terminals interpret. */
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
  const names = Object.entries(SETTINGS).filter(([, setting]: [string, Setting<unknown>]) => setting.isSecret);
  return [token, ...names.map(([name]) => environment[name])].filter(
    (secret) => secret !== undefined && secret.length >= MIN_SECRET_LENGTH,
  ) as string[];
}
