// Loaded before the service. Its clock is ahead by the seconds in a file, which is read repeatedly.
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_FILE'] ?? '';
let ahead = 0;
const look = () => {
  ahead = Number(readFileSync(file, 'utf8')) * 1000;
};
look();
setInterval(look, 50).unref();

const now = Date.now;
Date.now = () => now() + ahead;
// Dates that Node.js creates must be instances of this class, too.
globalThis.Date = new Proxy(Date, {
  construct: (real, given, made) => Reflect.construct(real, given.length === 0 ? [Date.now()] : given, made),
});
