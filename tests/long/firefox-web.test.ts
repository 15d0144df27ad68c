import { it } from 'node:test';
import { launchFirefox } from '../../testing/servers/firefox.ts';
import type { Need } from '../runner/needs.ts';
import { useEngine } from '../web/other-engines.ts';

export const needs: readonly Need[] = ['firefox'];

it('The web UI works in Firefox', (t) => useEngine(t, launchFirefox));
