// As tests/web/webkit.test.ts, with photos, the whole screen and a list that is taller than an element can be in WebKit. They take
// twice as long as the rest.
import { it } from 'node:test';
import { launchWebKit } from '../../testing/servers/webkit.ts';
import type { Need } from '../runner/needs.ts';
import { useEngine } from '../web/other-engines.ts';

export const needs: readonly Need[] = ['webkit'];

it('All main parts of the web UI work in WebKit', (t) => useEngine(t, launchWebKit, { isComplete: true }));
