import { readFileSync, statSync } from 'node:fs';
import type { Setting } from '../settings/setting.ts';
import { closestName } from '../settings/similar-names.ts';
import { SETTINGS, type SecretFile, type SettingName } from './settings.ts';

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The optional prefix of every variable. */
const PREFIX = 'HOLDALL_';

/** The suffix of a variable with the path of a file that contains a secret. */
const FILE_SUFFIX = '_FILE';

/** Maximum size of a secret file in bytes. */
const MAX_SECRET_FILE_BYTES = 64 * 1024;

/** The setting that a variable sets. */
export interface VariableTarget {
  readonly setting: SettingName;
  /** Whether the value is the path of a file with the secret. */
  readonly isFile: boolean;
}

/** Returns the setting that a variable sets, or undefined if it sets none. */
export function findTarget(variable: string): VariableTarget | undefined {
  const name = variable.startsWith(PREFIX) ? variable.slice(PREFIX.length) : variable;
  if (isSetting(name)) return { setting: name, isFile: false };
  if (!name.endsWith(FILE_SUFFIX)) return undefined;
  const secret = name.slice(0, -FILE_SUFFIX.length);
  return isSetting(secret) && isSecret(secret) ? { setting: secret, isFile: true } : undefined;
}

function isSetting(name: string): name is SettingName {
  return Object.hasOwn(SETTINGS, name);
}

function isSecret(name: SettingName): boolean {
  const setting: Setting<unknown> = SETTINGS[name];
  return setting.isSecret === true;
}

/** The text of a setting, or the reason why it has none. */
export type TextReading =
  | { readonly text: string | undefined; readonly file?: SecretFile }
  | { readonly problem: string };

/** Returns the text of a setting from `NAME`, `HOLDALL_NAME`, or the file that `NAME_FILE` names. Empty counts as unset. */
export function readText(variables: Variables, name: SettingName): TextReading {
  const text = readVariable(variables, name);
  if ('problem' in text || !isSecret(name)) return text;
  const path = readVariable(variables, `${name}${FILE_SUFFIX}`);
  if ('problem' in path || path.text === undefined) return 'problem' in path ? path : text;
  if (text.text !== undefined) {
    return { problem: `${text.variable} and ${path.variable} are both set. Remove one of them.` };
  }
  return readSecretFile(path.variable, path.text);
}

type VariableReading = { readonly variable: string; readonly text: string | undefined } | { readonly problem: string };

/** Reads a variable under its name with and without the prefix. */
function readVariable(variables: Variables, name: string): VariableReading {
  const prefixed = `${PREFIX}${name}`;
  const plain = variables[name] || undefined;
  const own = isServiceLink(prefixed, variables[prefixed]) ? undefined : variables[prefixed] || undefined;
  if (plain !== undefined && own !== undefined && plain !== own) {
    return { problem: `${name} and ${prefixed} have different values. Remove one of them.` };
  }
  return { variable: plain === undefined && own !== undefined ? prefixed : name, text: plain ?? own };
}

/** Returns whether Kubernetes set `HOLDALL_PORT`, as it does in a namespace with a Service named `holdall`. */
function isServiceLink(variable: string, text: string | undefined): boolean {
  return variable === `${PREFIX}PORT` && /^(?:tcp|udp|sctp):\/\//.test(text ?? '');
}

/** Reads a secret from a text file, without its last line break. Pipes are refused, because each worker reads the file. */
function readSecretFile(variable: string, path: string): TextReading {
  const subject = `${variable}: the file ${JSON.stringify(path)}`;
  let bytes: Buffer;
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { problem: `${subject} is not a regular file.` };
    if (stats.size > MAX_SECRET_FILE_BYTES) {
      return { problem: `${subject} is larger than ${MAX_SECRET_FILE_BYTES / 1024} KiB.` };
    }
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
    return { problem: `${subject} can't be read${code}. Check its path and its permissions.` };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
    return text === '' ? { problem: `${subject} is empty.` } : { text, file: { variable, path } };
  } catch {
    return { problem: `${subject} is not UTF-8 text.` };
  }
}

/** Returns the variables that set settings, under the names of the settings and without files of secrets. */
export function plainSettings(variables: Variables): Variables {
  const names = Object.keys(SETTINGS) as SettingName[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = [name, `${PREFIX}${name}`]
        .filter((variable) => !isServiceLink(variable, variables[variable]))
        .map((variable) => variables[variable]);
      const value = text.find(Boolean) ?? text.find((each) => each !== undefined);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * Returns the variables of an environment file that `environment` does not override. A setting of the environment
 * takes precedence under each of its names.
 */
export function withoutOverridden(file: Readonly<Record<string, string>>, environment: Variables) {
  const set = new Set<SettingName>();
  for (const [variable, text] of Object.entries(environment)) {
    const target = findTarget(variable);
    if (target && text !== undefined && !isServiceLink(variable, text)) set.add(target.setting);
  }
  return Object.fromEntries(
    Object.entries(file).filter(([variable]) => {
      const target = findTarget(variable);
      return target !== undefined && !set.has(target.setting);
    }),
  );
}

/** Minimum length of a variable without the prefix that can be a misspelled setting. Shorter names have other uses. */
const MIN_MISSPELLED_LENGTH = 6;

/**
 * Returns a warning for each variable that looks like a misspelled setting. A variable with the prefix is compared at
 * any length.
 */
export function findMisspellings(variables: Variables): string[] {
  const warnings: string[] = [];
  const names = (Object.keys(SETTINGS) as SettingName[]).flatMap((name) =>
    isSecret(name) ? [name, `${name}${FILE_SUFFIX}`] : [name],
  );
  for (const variable of Object.keys(variables)) {
    if (findTarget(variable) || FOREIGN_VARIABLES.has(variable)) continue;
    const hasPrefix = variable.toUpperCase().startsWith(PREFIX);
    const name = hasPrefix ? variable.slice(PREFIX.length) : variable;
    if (!hasPrefix && name.length < MIN_MISSPELLED_LENGTH) continue;
    const closest = closestName(name, names);
    if (closest === undefined) continue;
    warnings.push(
      `Unknown environment variable ${variable}. Did you mean ${hasPrefix ? PREFIX : ''}${closest}? See holdall help settings.`,
    );
  }
  return warnings;
}

/** Variables that resemble a setting and belong to something else: the doctor's token, and GitHub Actions. */
const FOREIGN_VARIABLES: ReadonlySet<string> = new Set(['HOLDALL_TOKEN', 'GITHUB_REF']);
