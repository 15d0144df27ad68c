import { isIP } from 'node:net';
import { parseInstant } from '../model/dates.ts';
import { isStoreError } from '../model/error.ts';
import { type FolderPath, parseFolder, ROOT } from '../model/path.ts';
import { isLoopback } from '../system.ts';

/** The value of a setting, or the reason why its text is invalid. */
export type Reading<Value> = { readonly value: Value } | { readonly problem: string };

/** Reads the text of one setting, which is never empty. */
export type Reader<Value> = (text: string) => Reading<Value>;

export const text: Reader<string> = (value) => ({ value });

/** A host or address to listen on. An IPv6 address can have the brackets that URLs need. */
export const host: Reader<string> = (value) => {
  const inside = value.startsWith('[') && value.endsWith(']') ? value.slice(1, -1) : value;
  return { value: isIP(inside) === 6 ? inside : value };
};

export const oneOf =
  <const Choice extends string>(...choices: readonly Choice[]): Reader<Choice> =>
  (input) => {
    const value = choices.find((choice) => choice === input);
    if (value !== undefined) return { value };
    const [only, ...others] = choices;
    return { problem: others.length === 0 ? `must be ${only} or unset` : `must be one of ${choices.join(', ')}` };
  };

export const integer =
  (min: number, max: number): Reader<number> =>
  (input) => {
    const value = Number(input);
    if (/^\d+$/.test(input) && value >= min && value <= max) return { value };
    return { problem: `must be a whole number from ${min} to ${max}` };
  };

/** Milliseconds of the units of durations. */
const DURATION_UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a duration as a whole number of `unit`: a number without a unit, or with one, such as `90s` or `7d`. A value
 * that is not a whole number of `unit` is rejected.
 */
export const duration =
  (unit: 's' | 'ms', min: number, max: number): Reader<number> =>
  (input) => {
    const [, number = '', ownUnit = unit] = /^(\d+)(ms|[smhd])?$/.exec(input) ?? [];
    const value = (Number(number) * DURATION_UNITS[ownUnit as keyof typeof DURATION_UNITS]) / DURATION_UNITS[unit];
    if (number !== '' && Number.isInteger(value) && value >= min && value <= max) return { value };
    const name = unit === 's' ? 'seconds' : 'milliseconds';
    return { problem: `must be from ${min} to ${max} whole ${name}, with or without a unit: ms, s, m, h or d` };
  };

/** Reads a number from 0 to 1. */
export const ratio: Reader<number> = (input) => {
  const value = Number(input);
  return /^(?:\d*\.)?\d+$/.test(input) && value <= 1 ? { value } : { problem: 'must be a number from 0 to 1' };
};

/**
 * Reads names and values as `name=value,name=value`, with percent-encoded values. This is the OpenTelemetry format,
 * which follows the W3C header `baggage`.
 */
export const pairs: Reader<Readonly<Record<string, string>>> = (input) => {
  const entries = input.split(',').map((pair) => PAIR.exec(pair.trim()));
  try {
    return { value: Object.fromEntries(entries.map((found) => [found?.[1], decodeURIComponent(found?.[2] ?? '%')])) };
  } catch {
    return { problem: 'must be name=value pairs, separated by commas, with %20 for a space in a value' };
  }
};

/** A valid header name, and an ASCII value. */
const PAIR = /^([\w!#$%&'*+.^`|~-]+) *= *((?:[\x21-\x7e][\x20-\x7e]*)?)$/;

export const yesOrNo: Reader<boolean> = (input) =>
  input === 'true' || input === 'false' ? { value: input === 'true' } : { problem: 'must be true or false' };

const UNITS = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/** Reads a number of bytes, with or without a unit. */
export const size: Reader<number> = (input) => {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(input) ?? [];
  const factor = Object.entries(UNITS).find(([name]) => name === unit.toUpperCase())?.[1];
  const value = Math.floor(Number(number) * (factor ?? Number.NaN));
  if (number !== '' && Number.isSafeInteger(value)) return { value };
  return { problem: 'must be a number of bytes, with or without a unit: B, kB, MB, GB, TB, KiB, MiB, GiB or TiB' };
};

/** Reads a number of bytes above 0. */
export const positiveSize: Reader<number> = (input) => {
  const read = size(input);
  return 'value' in read && read.value === 0 ? { problem: 'must be more than 0 bytes' } : read;
};

/** Reads an HTTP or HTTPS URL, with or without a path, and removes trailing slashes. */
export const url =
  ({ path }: { path: boolean }): Reader<string> =>
  (input) => {
    const parsed = URL.parse(input);
    if (!parsed || !/^https?:$/.test(parsed.protocol))
      return { problem: 'must be a URL that begins with https:// or http://' };
    if (parsed.username || parsed.password || parsed.search || parsed.hash) {
      return { problem: 'must be a URL without user, query or fragment' };
    }
    const value = input.replace(/(?<!\/)\/+$/, '');
    if (path || parsed.pathname === '/') return { value };
    return { problem: 'must be a URL without a path' };
  };

/** Maximum length of a base path in characters. It is part of cookie names. */
const MAX_BASE_PATH = 200;

/** Reads a path prefix of URLs, and removes its trailing slash. `/` is the empty prefix. */
export const basePath: Reader<string> = (input) => {
  const value = input.replace(/\/$/, '');
  const segments = value.split('/').slice(1);
  const isPath = (value === '' || value.startsWith('/')) && segments.every(isPlainSegment);
  if (isPath && value.length <= MAX_BASE_PATH) return { value };
  return {
    problem: `must be / or a path that begins with /, of letters, digits, "-", ".", "_" and "~", with at most ${MAX_BASE_PATH} characters`,
  };
};

/** Returns whether a path segment has only characters that need no escape in a URL (RFC 3986, section 2.3). */
function isPlainSegment(segment: string): boolean {
  return /^[\w.~-]+$/.test(segment) && segment !== '.' && segment !== '..';
}

/** Maximum bytes of a served folder's path, so that keys of at most 1,024 bytes leave room for paths. */
const MAX_FOLDER_BYTES = 512;

/** Reads the path of a folder in a store, with or without slashes around it. */
export const folderPath: Reader<FolderPath> = (input) => {
  try {
    const value = parseFolder(input);
    if (value !== ROOT && Buffer.byteLength(value) <= MAX_FOLDER_BYTES) return { value };
  } catch (error) {
    if (!isStoreError(error)) throw error;
  }
  return { problem: `must be the path of a folder of at most ${MAX_FOLDER_BYTES} bytes, without "//", "." and ".."` };
};

/** Reads a text without line breaks and other control characters. */
export const oneLine: Reader<string> = (input) =>
  /^[^\u0000-\u001f\u007f]{1,500}$/.test(input) && input.trim() !== ''
    ? { value: input }
    : { problem: 'must be one line of at most 500 characters' };

export const emailAddress: Reader<string> = (input) =>
  /^[^\s@<>]+@[^\s@<>]+$/.test(input) ? { value: input } : { problem: 'must be an email address' };

/** Reads a secret unchanged. */
export const password: Reader<string> = (input) =>
  /^[\x21-\x7e]+$/.test(input) ? { value: input } : { problem: 'must contain only ASCII characters, without spaces' };

/** Reads a secret unchanged, with a minimum length. */
export const secret =
  (minBytes: number): Reader<Buffer> =>
  (input) => {
    const value = Buffer.from(input);
    if (value.length >= minBytes) return { value };
    return { problem: `must have at least ${minBytes} bytes, not ${value.length}` };
  };

/** Reads a token that clients send as `Authorization: Bearer` (RFC 6750), with a minimum length. */
export const bearerToken =
  (minBytes: number): Reader<Buffer> =>
  (input) => {
    const reading = password(input);
    return 'problem' in reading ? reading : secret(minBytes)(input);
  };

/** Reads the URL of an identity provider: HTTPS, because its responses identify users, or loopback. */
export const issuer: Reader<string> = (input) => {
  const parsed = URL.parse(input);
  if (!parsed || parsed.username || parsed.password || parsed.search || parsed.hash) {
    return { problem: 'must be a URL without user, query or fragment' };
  }
  if (parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLoopback(parsed.hostname)))
    return { value: input };
  return { problem: 'must be a URL that begins with https://' };
};

/**
 * Reads an origin for file contents. A Content-Security-Policy must be able to name it, which excludes IPv6 addresses.
 */
export const contentOrigin: Reader<string> = (input) => {
  const reading = url({ path: false })(input);
  if (!('value' in reading) || URL.parse(input)?.hostname.startsWith('[') !== true) return reading;
  return { problem: 'must have a host name or an IPv4 address' };
};

/** Reads a comma-separated list of exact origins, or `*`. */
export const origins: Reader<readonly string[]> = (input) => {
  if (input === '*') return { value: ['*'] };
  const value = input.split(',').map((part) => originOf(part.trim()));
  return value.every((origin) => origin !== undefined)
    ? { value }
    : { problem: 'must be * or exact origins such as https://app.example.org, separated by commas' };
};

/** Returns an origin as browsers send it; undefined if the text has more than an origin, or a wildcard. */
function originOf(input: string): string | undefined {
  const parsed = URL.parse(input);
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password) return undefined;
  if (parsed.pathname !== '/' || /[*?#]/.test(input)) return undefined;
  return parsed.origin;
}

/** Reads the name of a claim. */
export const claim: Reader<string> = (input) =>
  /^[\x21-\x7e]{1,200}$/.test(input) ? { value: input } : { problem: 'must be a claim name without spaces' };

/**
 * Reads a comma-separated list of addresses, networks and `loopback`. Refuses a network with all addresses; `effect` says
 * what it would do.
 */
export const networks =
  ({ effect }: { readonly effect: string }): Reader<readonly string[]> =>
  (input) => {
    const value = input.split(',').map((part) => part.trim());
    if (value.some((part) => /^[\da-f.:]+\/0+$/i.test(part))) {
      return { problem: `must not contain a network with /0, which would ${effect}` };
    }
    return value.every(isNetwork)
      ? { value }
      : { problem: 'must be IP addresses, networks such as 10.0.0.0/8, or loopback, separated by commas' };
  };

function isNetwork(input: string): boolean {
  if (input === 'loopback') return true;
  const [address = '', bits, ...rest] = input.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) > 0 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

/** Reads the destination of a log. A file path must contain a `/`, so that a misspelled keyword is rejected. */
export const logDestination: Reader<string> = (input) =>
  input === 'stdout' || input === 'off' || (input.includes('/') && !input.endsWith('/'))
    ? { value: input }
    : { problem: 'must be stdout, off, or a file path that contains a "/", such as ./audit.log' };

/** Reads the URL of a Redis server. */
export const redisUrl: Reader<string> = (input) => {
  const parsed = URL.parse(input);
  if (parsed && /^rediss?:$/.test(parsed.protocol) && parsed.hostname !== '') return { value: input };
  return { problem: 'must be a URL that begins with redis:// or rediss://' };
};

/** Reads the URL of a PostgreSQL server. It can name a folder of sockets instead of a host. */
export const postgresUrl: Reader<string> = (input) => {
  const parsed = URL.parse(input);
  if (parsed && /^postgres(?:ql)?:$/.test(parsed.protocol) && parsed.pathname.length > 1) return { value: input };
  return { problem: 'must be a URL that begins with postgres:// and ends with the name of a database' };
};

/** Reads the URI of a contact (RFC 9116, section 2.5.3). */
export const contactUri: Reader<string> = (input) =>
  /^(https:\/\/|mailto:|tel:)[!-~]+$/i.test(input) && URL.canParse(input)
    ? { value: input }
    : { problem: 'must be a URI that begins with https://, mailto: or tel:' };

/** Reads an instant with its time zone (RFC 3339). Refuses dates that don't exist, such as 30 February. */
export const instant: Reader<Date> = (input) => {
  const value = parseInstant(input);
  return value
    ? { value }
    : { problem: 'must be an existing date and time with its zone in RFC 3339 form, such as 2027-06-30T00:00:00Z' };
};
