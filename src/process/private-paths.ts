import { readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { type Config, SettingsError } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { OWN_FOLDER } from '../stores/disk/root.ts';

/** What is nobody's but the service's own, and what of it somebody who may read or write there would have. */
const PRIVATE = {
  STATE_DIR: 'the key of all sessions',
  ACCESS_FILE: 'the hashes of passwords, and all rights',
  AUDIT_LOG: 'the audit log',
  CACHE_DIR: 'thumbnails of files that they may not see',
} as const;

/**
 * Requires that nothing of the service's own lies among the files that it serves, but in its hidden folder. Throws
 * `SettingsError` with a line for each setting that says otherwise.
 */
export async function requirePrivatePaths(config: Config): Promise<void> {
  if (config.STORAGE_TYPE !== 'disk') return;
  const root = (await wayTo(config.DISK_ROOT)).at(-1) ?? resolve(config.DISK_ROOT);
  const problems: string[] = [];
  for (const name of ['STATE_DIR', 'ACCESS_FILE', 'AUDIT_LOG', 'CACHE_DIR'] as const) {
    const path = config[name];
    if (path === undefined || (name === 'AUDIT_LOG' && (path === 'stdout' || path === 'off'))) continue;
    const way = await wayTo(path);
    if (!way.some((place) => isServed(place, root)) && way.at(-1) !== root) continue;
    problems.push(
      `${name} ${path} must not lie in DISK_ROOT: whoever may read or write there would have ${PRIVATE[name]}. Choose a place outside of ${root}. Example: ${name}=${SETTINGS[name].example}`,
    );
  }
  if (problems.length > 0) throw new SettingsError(problems);
}

/** Whether a place is below the root, and not in the one folder there that is never listed and can't be addressed. */
function isServed(place: string, root: string): boolean {
  const [first = '', ...rest] = relative(root, place).split(sep);
  const isBelow = first !== '' && first !== '..' && !isAbsolute([first, ...rest].join(sep));
  return isBelow && first !== OWN_FOLDER;
}

/** As many as Linux follows in one path. */
const MOST_LINKS = 40;

/**
 * The places that the system comes through on its way to a path, each without links above it, the last one being where it
 * ends; links that lead from the one to the other are among them. What is missing would be made where the way ends.
 */
async function wayTo(path: string): Promise<string[]> {
  const places: string[] = [];
  const names = resolve(path).split(sep).filter(Boolean);
  let current = resolve('/');
  for (let links = 0; names.length > 0; ) {
    const name = names.shift() ?? '';
    if (name === '.' || name === '..') {
      if (name === '..') current = dirname(current);
      continue;
    }
    const place = join(current, name);
    places.push(place);
    const target = links < MOST_LINKS ? await readlink(place).catch(() => undefined) : undefined;
    if (target === undefined) {
      current = place;
      continue;
    }
    links++;
    if (isAbsolute(target)) current = resolve('/');
    names.unshift(...target.split(sep).filter(Boolean));
  }
  return [...places, current];
}
