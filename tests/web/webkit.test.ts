import { it } from 'node:test';
import { launchWebKit } from '../../testing/servers/webkit.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { useEngine } from './other-engines.ts';

export const needs: readonly Need[] = ['webkit'];

it('The web UI works in WebKit', IN_FULL_FORM_ONLY, (t) => useEngine(t, launchWebKit));
