/** Spellings of the parent folder that a filter could fail to recognise. */
const UPS: readonly string[] = [
  '../',
  '%2e%2e/',
  '.%2E/',
  '%2e%2e%2f',
  '..%2f',
  '%252e%252e/',
  '%252e%252e%252f',
  '..%252f',
  '%25252e%25252e%25252f',
  '..\\',
  '..%5c',
  '..%255c',
  '%2e%2e%5c',
  '..\\/',
  '%c0%ae%c0%ae/',
  '%c0%ae%c0%ae%c0%af',
  '%e0%80%ae%e0%80%ae/',
  '%f0%80%80%ae%f0%80%80%ae/',
  '..%c0%af',
  '..%c1%9c',
  '%u002e%u002e%u002f',
  '....//',
  '..././',
  '.../',
  './../',
  '..//',
  '..;/',
  ';/../',
  '..;a=b/',
  '..%00/',
  '%00../',
  '..%0d%0a/',
  '..%7f/',
  '..%20/',
  '%20../',
  '..%2e/',
  '.%20./',
  // One dot leader, full-width full stop, small full stop.
  '%e2%80%a4%e2%80%a4/',
  '%e2%80%a5/',
  '%ef%bc%8e%ef%bc%8e/',
  '%ef%b9%92%ef%b9%92/',
  // Division slash, fraction slash, full-width solidus and its reverse.
  '..%e2%88%95',
  '..%e2%81%84',
  '..%ef%bc%8f',
  '..%ef%bc%bc',
  // An invisible mark, and a byte sequence that reverses the direction of text.
  '.%e2%80%8b./',
  '%e2%80%ae../',
];

/** Returns other spellings of `goal` in a URL, or paths to it from `mine/`. */
export function spellingsOf(goal: string, base: string): readonly string[] {
  const climbing = UPS.flatMap((up) => [`mine/${up}${goal}`, `mine/folder/${up}${up}${up}${goal}`]);
  const last = goal.slice(goal.lastIndexOf('/') + 1);
  return [
    ...climbing,
    `/${goal}`,
    `//${goal}`,
    `./${goal}`,
    `mine//../${goal}`,
    `%2f%2f${goal}`,
    `${goal}/.`,
    `${goal}/`,
    `.//${goal}`,
    `${goal}.`,
    `${goal}%20`,
    `${goal}%00`,
    `${goal}%00.png`,
    `${goal}::$DATA`,
    `${goal}%e2%80%8b`,
    `${goal};a=b`,
    goal.toUpperCase(),
    goal.replace('/', '%2f'),
    goal.replace('/', '%5c'),
    goal.replace('/', './'),
    goal.replace('/', '%20/'),
    `mine%2f..%2f${goal}`,
    `mine%00/../${goal}`,
    `mine/*/../../${goal}`,
    `mine/%2e%2e/other/./${last}`,
    `${base}/root/${goal}`,
    `/${base}/${goal}`,
    `file://${base}/${goal}`,
    `file:${base}/${goal}`,
    `~/${goal}`,
    `$PWD/${goal}`,
    `C:/${goal}`,
    `C:%5c${goal}`,
    `%5c%5c127.0.0.1%5c${goal}`,
    `%5c%5c%3f%5c${goal}`,
    'mine/CON',
    'mine/nul',
    'mine/com1.txt',
    'AUX',
    '.',
    '..',
    'mine/..',
    'mine/.',
    'mine/../..',
    '%2e%2e',
    `mine/${'../'.repeat(12)}proc/self/environ`,
    '.holdall/key',
    'mine/../.holdall/key',
    '.HOLDALL/key',
    '.holdall%20/key',
    '.holdall./key',
    '.holdall%2fkey',
  ];
}

/**
 * Returns one spelling of each kind: the parent folder in plain and encoded forms, an absolute path, and the service's
 * own folder. For routes whose paths have the same parser as a route that gets all spellings.
 */
export function representativesOf(goal: string, base: string): readonly string[] {
  const ups = ['../', '%2e%2e%2f', '%252e%252e/', '..%5c', '%c0%ae%c0%ae/', '..%00/'];
  return [
    ...ups.map((up) => `mine/${up}${goal}`),
    `mine/folder/../../${goal}`,
    `/${goal}`,
    `./${goal}`,
    `${goal}/.`,
    `${goal}%00`,
    goal.toUpperCase(),
    goal.replace('/', '%2f'),
    `${base}/root/${goal}`,
    `file://${base}/${goal}`,
    '..',
    '.holdall/key',
    'mine/../.holdall/key',
  ];
}

/** Returns the spellings as texts: unchanged and, where possible, decoded. */
export function textsOf(spellings: readonly string[]): readonly string[] {
  return [...new Set(spellings.flatMap((spelling) => [spelling, decoded(spelling)]))];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Returns each byte as a character, like UTF-8 that was decoded without validation.
    return unescape(text);
  }
}
