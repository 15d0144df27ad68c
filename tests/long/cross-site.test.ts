/*
 * A page of another origin that attacks a signed-in user, in a real browser with its cookies, CORS and site isolation: four pages
 * and services. tests/http checks the headers that the service relies on, not what a browser makes of them.
 */

import type { Need } from '../runner/needs.ts';
import { testForeignPages } from '../web/foreign-pages.ts';

export const needs: readonly Need[] = ['browser'];

testForeignPages([
  { name: 'local, a site of the internet', service: 'localhost', hostile: 'evil.test', as: 'anonymous' },
  { name: 'local, another port', service: '127.0.0.1', hostile: '127.0.0.1', as: 'anonymous' },
  { name: 'signed in, another port', service: '127.0.0.1', hostile: '127.0.0.1', as: 'session' },
  { name: 'signed in, another site', service: '127.0.0.1', hostile: 'localhost', as: 'session' },
  { name: 'with Basic, another site', service: '127.0.0.1', hostile: 'localhost', as: 'Basic' },
]);
