import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { type Setting, SettingsError } from '../settings/setting.ts';
import { BACKENDS, backendOf, findBackend, type RegisteredBackend } from '../stores/registry.ts';
import { isLoopback } from '../system.ts';
import { findTarget, plainSettings, readText, type Variables } from './environment.ts';
import { type Config, SETTINGS, type SecretFile, type SettingName } from './settings.ts';

/**
 * Reads the settings from an environment. Throws a single `SettingsError` with every mistake; secrets are not shown.
 */
export function readConfig(environment: Variables): Config {
  const values: Partial<Record<SettingName, unknown>> = {};
  const problems = new Map<SettingName, string>();
  const secretFiles: SecretFile[] = [];
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    const found = readText(environment, name);
    if ('problem' in found) {
      problems.set(name, found.problem);
      continue;
    }
    if (found.file) secretFiles.push(found.file);
    // STORAGE_TYPE is the first setting, so its value is already known.
    const text = found.text ?? defaultOf(name, values.STORAGE_TYPE as string | undefined);
    if (text === null) continue;
    const reading = setting.read(text);
    if ('value' in reading) values[name] = reading.value;
    else problems.set(name, `${name} ${reading.problem}${describeValue(text, setting)}. ${exampleOf(name)}`);
  }
  const config = values as Partial<Config>;
  // An invalid setting is reported only once.
  const isMissing = (name: SettingName) => config[name] === undefined && !problems.has(name);
  const found = [...problems.values(), ...findMissing(config, isMissing), ...findContradictions(config, isMissing)];
  if (found.length > 0) throw new SettingsError(found);
  return { ...values, secretFiles } as Config;
}

/** Returns the default of a setting for a backend, in the syntax of the variable; null if there is none. */
export function defaultOf(name: SettingName, type: string | undefined): string | null {
  const defaults: Readonly<Partial<Record<string, string>>> = findBackend(type)?.defaults ?? {};
  return defaults[name] ?? SETTINGS[name].defaultText;
}

function exampleOf(name: SettingName): string {
  return `Example: ${name}=${SETTINGS[name].example}`;
}

/** Returns a problem for each setting that the selected backend requires. */
function findMissing(config: Partial<Config>, isMissing: (name: SettingName) => boolean): string[] {
  const { STORAGE_TYPE: type } = config;
  const backend = findBackend(type);
  if (!backend) return [];
  const problems = (Object.entries(backend.settings) as [SettingName, Setting<unknown>][])
    .filter(([name, { isRequired }]) => isRequired && isMissing(name))
    .map(([name]) => `${name} is required for STORAGE_TYPE=${type}. ${exampleOf(name)}`);
  for (const { name, reason } of backend.requirements ?? []) {
    const because = isMissing(name) ? reason(config) : undefined;
    if (because !== undefined) problems.push(`${name} is required ${because}. ${exampleOf(name)}`);
  }
  return problems;
}

/** A local folder that the service serves, and the setting that names it. */
export interface ServedFolder {
  readonly setting: SettingName;
  readonly path: string;
}

/** Returns the local folder that the configured backend serves, if any. */
export function servedFolder(config: Config): ServedFolder | undefined {
  const { folderSetting: setting } = backendOf(config);
  return setting === undefined ? undefined : { setting, path: config[setting] };
}

/**
 * Returns the local folder that the backend of the environment and an environment file would serve, before the other
 * settings are known to be valid. Variables of the environment take precedence: also a folder in it over a `STORAGE_TYPE`
 * of the file, which therefore can't select another backend.
 */
export function findServedFolder(ofEnvironment: Variables, ofFile: Variables): ServedFolder | undefined {
  const [environment, file] = [plainSettings(ofEnvironment), plainSettings(ofFile)];
  const isServing = ({ folderSetting: setting }: RegisteredBackend) => setting !== undefined && environment[setting];
  const typeIn = (variables: Variables) => variables['STORAGE_TYPE'] || SETTINGS.STORAGE_TYPE.defaultText;
  const backend =
    environment['STORAGE_TYPE'] === undefined
      ? (BACKENDS.find(isServing) ?? findBackend(typeIn(file)))
      : findBackend(typeIn(environment));
  const setting = backend?.folderSetting;
  if (setting === undefined) return undefined;
  return { setting, path: (environment[setting] ?? file[setting]) || SETTINGS[setting].defaultText };
}

/** Returns conflicts between access settings that are valid on their own. */
function findContradictions(config: Partial<Config>, isMissing: (name: SettingName) => boolean): string[] {
  const problems: string[] = [];
  if (config.ACCESS !== undefined && config.ACCESS_FILE !== undefined) {
    problems.push('ACCESS=open and ACCESS_FILE exclude each other. Remove one of them.');
  }
  const isUndecided = isMissing('ACCESS') && isMissing('ACCESS_FILE');
  const alternatives = `${exampleOf('ACCESS_FILE')}; or ACCESS=open, which gives everyone all permissions.`;
  for (const name of REMOTE_ACCESS_SETTINGS) {
    if (config[name] === undefined || !isUndecided) continue;
    problems.push(`ACCESS_FILE is required for ${name}. ${alternatives}`);
  }
  if (isUndecided && config.HOST !== undefined && !isLoopback(config.HOST)) {
    problems.push(`ACCESS_FILE is required, because other machines can reach HOST=${config.HOST}. ${alternatives}`);
  }
  if (config.CORS_ORIGINS?.includes('*') && isMissing('ACCESS_FILE')) {
    problems.push(
      `CORS_ORIGINS=* requires ACCESS_FILE, because any website could otherwise use your files through your browser. ${exampleOf('CORS_ORIGINS')}`,
    );
  }
  const { CONTENT_ORIGIN: contentUrl, PUBLIC_URL: publicUrl, BASE_PATH: basePath } = config;
  if (basePath && publicUrl && pathOf(publicUrl) !== basePath) {
    problems.push(
      `PUBLIC_URL=${publicUrl} and BASE_PATH=${basePath} have different paths. Set PUBLIC_URL=${new URL(publicUrl).origin}${basePath}, or remove BASE_PATH if the reverse proxy removes the path.`,
    );
  }
  if (contentUrl && publicUrl && new URL(contentUrl).hostname === new URL(publicUrl).hostname) {
    problems.push(
      `CONTENT_ORIGIN must have another host than PUBLIC_URL, so that browsers keep file contents from the web UI. ${exampleOf('CONTENT_ORIGIN')}`,
    );
  }
  if (config.AUDIT_READS && config.AUDIT_LOG === 'off') {
    problems.push(`AUDIT_READS=true needs an audit log, but AUDIT_LOG is off. ${exampleOf('AUDIT_LOG')}`);
  }
  for (const [name, ...required] of REQUIRED_TOGETHER) {
    if (config[name] === undefined) continue;
    for (const other of required.filter(isMissing)) {
      problems.push(`${other} is required for ${name}. ${exampleOf(other)}`);
    }
  }
  return problems;
}

/** Returns the path of a URL without a trailing slash. */
function pathOf(url: string): string {
  return new URL(url).pathname.replace(/\/$/, '');
}

/** Settings that imply that other machines reach the service. */
const REMOTE_ACCESS_SETTINGS = ['PUBLIC_URL', 'TRUST_PROXY'] as const satisfies readonly SettingName[];

/** Settings that require others: the first name requires the rest. */
const REQUIRED_TOGETHER = [
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'PUBLIC_URL', 'ACCESS_FILE'],
  ['OIDC_CLIENT_ID', 'OIDC_ISSUER'],
  ['OIDC_CLIENT_SECRET', 'OIDC_ISSUER'],
  ['JWT_ISSUER', 'JWT_AUDIENCE', 'ACCESS_FILE'],
  ['JWT_AUDIENCE', 'JWT_ISSUER'],
  ['JWT_JWKS_URL', 'JWT_ISSUER'],
  ['SECURITY_CONTACT', 'SECURITY_EXPIRES'],
  ['SECURITY_EXPIRES', 'SECURITY_CONTACT'],
] as const satisfies readonly (readonly [SettingName, ...SettingName[]])[];

function describeValue(text: string, setting: Setting<unknown>): string {
  return setting.isSecret || mayHoldSecret(text) ? '' : `, not ${JSON.stringify(text)}`;
}

/** Returns whether an invalid value can contain a password or a token by mistake, as a URL can. */
export const mayHoldSecret = (text: string): boolean => /[@?]/.test(text);

/** The variables of an environment file. */
export interface EnvironmentFile {
  /** The values of settings. */
  readonly settings: Readonly<Record<string, string>>;
  /** Names of variables that are not Holdall settings. They must not reach the environment of a process. */
  readonly ignored: readonly string[];
}

/**
 * Reads a file of `NAME=value` lines. Returns undefined if it does not exist. Throws the system's error if it is
 * unreadable.
 */
export function readEnvironmentFile(path: string): EnvironmentFile | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const variables = Object.entries(parseEnv(text)).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const isKnown = (name: string) => findTarget(name) !== undefined;
  return {
    settings: Object.fromEntries(variables.filter(([name]) => isKnown(name))),
    ignored: variables.map(([name]) => name).filter((name) => !isKnown(name)),
  };
}
