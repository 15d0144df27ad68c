import { it } from 'node:test';
import { launchWebKit } from '../../testing/servers/webkit.ts';
import type { Need } from '../runner/needs.ts';
import { useEngine } from './other-engines.ts';

export const needs: readonly Need[] = ['webkit'];

it('The web UI works in WebKit', (t) => useEngine(t, launchWebKit, { isComplete: false }));
