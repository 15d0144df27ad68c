// The web UI in WebKit: the ordinary tests use Chromium. The start of WebKit, its display and the journey take as long as several
// journeys in Chromium.
import { it } from 'node:test';
import { launchWebKit } from '../../testing/servers/webkit.ts';
import type { Need } from '../runner/needs.ts';
import { useEngine } from '../web/other-engines.ts';

export const needs: readonly Need[] = ['webkit'];

it('The web UI works in WebKit', (t) => useEngine(t, launchWebKit));
