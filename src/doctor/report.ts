import type { Finding } from '../checks/check.ts';
import { SETTINGS } from '../config/settings.ts';
import type { Setting } from '../settings/setting.ts';

/** Report of the findings, as text or as JSON. */
export interface Report {
  tell(name: string, finding: Finding): void;
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
  const conceal = (text: string) =>
    secrets.reduce((shown, secret) => shown.replaceAll(secret, '(secret)'), text).replaceAll(CONTROLS, ' ');
  const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length;

  if (!json) print(`Holdall ${version}, Node.js ${process.versions.node}\n`);
  return {
    tell(check, { status, found, advice }) {
      const shown = { check, status, found: conceal(found), ...(advice !== undefined && { advice: conceal(advice) }) };
      findings.push(shown);
      if (!json) print(describe(shown));
    },

    end() {
      const isWell = count('failed') === 0;
      if (json) {
        print(`${JSON.stringify({ version, node: process.versions.node, success: isWell, findings }, undefined, 2)}\n`);
      } else {
        const warnings = count('warning');
        print(
          `${count('ok')} ok, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}, ${count('failed')} failed, ${count('not tried')} not tried.\n`,
        );
      }
      return isWell;
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
const LEAST_SECRET = 6;

/** Returns `token` and the values of secret settings, if they are long enough to redact. */
export function secretsOf(
  environment: Readonly<Record<string, string | undefined>>,
  token: string | undefined,
): readonly string[] {
  const names = Object.entries(SETTINGS).filter(([, setting]: [string, Setting<unknown>]) => setting.isSecret);
  return [token, ...names.map(([name]) => environment[name])].filter(
    (secret) => secret !== undefined && secret.length >= LEAST_SECRET,
  ) as string[];
}
