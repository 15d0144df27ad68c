import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { isLoopback } from '../system.ts';
import { SETTINGS, type Setting, type SettingName, type Settings } from './settings.ts';

export type Config = Settings;

/** All mistakes in the settings, one per line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The settings have ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

/**
 * Reads the settings from an environment. Throws a single `SettingsError` with every mistake; secrets are not shown.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const config: Partial<Record<SettingName, unknown>> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    // STORAGE_TYPE is the first setting, so its value is already known.
    const given = environment[name] || (setting.fallbackFor?.[config.STORAGE_TYPE as string] ?? setting.fallback);
    if (given === null) continue;
    const reading = setting.read(given);
    if ('value' in reading) config[name] = reading.value;
    else problems.push(`${name} ${reading.problem}${describe(given, setting)}. Example: ${name}=${setting.example}`);
  }
  problems.push(...findLacking(config as Partial<Config>, problems));
  if (problems.length > 0) throw new SettingsError(problems);
  return config as Config;
}

/**
 * Returns the settings that the selected storage type needs and that are missing. Invalid settings are already
 * reported.
 */
function findLacking(config: Partial<Config>, problems: readonly string[]): string[] {
  const type = config.STORAGE_TYPE;
  const isLacking = (name: SettingName) =>
    config[name] === undefined && !problems.some((problem) => problem.startsWith(`${name} `));
  const told = (Object.entries(SETTINGS) as [SettingName, Setting<unknown>][])
    .filter(([name, { neededFor = [] }]) => neededFor.some((each) => each === type) && isLacking(name))
    .map(([name, { example }]) => `${name} is needed for STORAGE_TYPE=${type}. Example: ${name}=${example}`);
  const needsEndpoint = type === 'r2' || (type === 's3' && config.S3_REGION === 'auto');
  if (needsEndpoint && isLacking('S3_ENDPOINT')) {
    told.push(
      `S3_ENDPOINT is needed${type === 's3' ? ', unless S3_REGION names a region of AWS' : ''}. Example: S3_ENDPOINT=${SETTINGS.S3_ENDPOINT.example}`,
    );
  }
  if (type === 'github' && config.READ_ONLY === false && isLacking('GITHUB_TOKEN')) {
    told.push(
      `GITHUB_TOKEN is needed for STORAGE_TYPE=github, unless READ_ONLY=true. Example: GITHUB_TOKEN=${SETTINGS.GITHUB_TOKEN.example}`,
    );
  }
  const halves = ['GITHUB_AUTHOR_NAME', 'GITHUB_AUTHOR_EMAIL'] as const;
  const [absent] = halves.filter(isLacking);
  if (absent !== undefined && !halves.every(isLacking)) {
    told.push(
      `${absent} is needed too, as a name and an address are set together. Example: ${absent}=${SETTINGS[absent].example}`,
    );
  }
  return [...told, ...findContradictions(config, isLacking)];
}

/** Returns conflicts between access settings that are valid on their own. */
function findContradictions(config: Partial<Config>, isLacking: (name: SettingName) => boolean): string[] {
  const example = (name: SettingName) => `Example: ${name}=${SETTINGS[name].example}`;
  const told: string[] = [];
  if (config.ACCESS !== undefined && config.ACCESS_FILE !== undefined) {
    told.push('ACCESS=open and ACCESS_FILE contradict each other: take one of them away.');
  }
  const isUndecided = isLacking('ACCESS') && isLacking('ACCESS_FILE');
  for (const name of FOR_OTHERS) {
    if (config[name] === undefined || !isUndecided) continue;
    told.push(
      `${name} is for a service that others reach: ACCESS_FILE is needed then. ${example('ACCESS_FILE')}; or ACCESS=open, if everybody who reaches it may do everything.`,
    );
  }
  const isOpenToOthers = config.HOST !== undefined && !isLoopback(config.HOST);
  if (isOpenToOthers && isUndecided) {
    told.push(
      `ACCESS_FILE is needed, since HOST=${config.HOST} is reached by others: it says who may do what. ${example('ACCESS_FILE')}; or ACCESS=open, if everybody who reaches the port may do everything.`,
    );
  }
  const { CONTENT_ORIGIN: contents, PUBLIC_URL: page } = config;
  if (contents !== undefined && page !== undefined && new URL(contents).hostname === new URL(page).hostname) {
    told.push(
      `CONTENT_ORIGIN must be another host than that of PUBLIC_URL: it keeps the two apart. ${example('CONTENT_ORIGIN')}`,
    );
  }
  for (const [first, ...others] of NEEDED_WITH) {
    if (config[first] === undefined) continue;
    for (const other of others.filter(isLacking)) told.push(`${other} is needed for ${first}. ${example(other)}`);
  }
  return told;
}

/** Settings that imply that other machines reach the service. */
const FOR_OTHERS = ['PUBLIC_URL', 'TRUST_PROXY'] as const satisfies readonly SettingName[];

/** Settings that require others: the first name needs the rest. */
const NEEDED_WITH = [
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'PUBLIC_URL', 'ACCESS_FILE'],
  ['OIDC_CLIENT_ID', 'OIDC_ISSUER'],
  ['OIDC_CLIENT_SECRET', 'OIDC_ISSUER'],
  ['JWT_ISSUER', 'JWT_AUDIENCE', 'ACCESS_FILE'],
  ['JWT_AUDIENCE', 'JWT_ISSUER'],
  ['JWT_JWKS_URL', 'JWT_ISSUER'],
  ['SECURITY_CONTACT', 'SECURITY_EXPIRES'],
  ['SECURITY_EXPIRES', 'SECURITY_CONTACT'],
] as const satisfies readonly (readonly [SettingName, ...SettingName[]])[];

function describe(given: string, setting: Setting<unknown>): string {
  // A URL can contain a password or a token by mistake.
  const mayHoldSecret = setting.isSecret || /[@?]/.test(given);
  return mayHoldSecret ? '' : `, and is ${JSON.stringify(given)}`;
}

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
  const isSetting = (name: string) => Object.hasOwn(SETTINGS, name);
  return {
    settings: Object.fromEntries(variables.filter(([name]) => isSetting(name))),
    ignored: variables.map(([name]) => name).filter((name) => !isSetting(name)),
  };
}
