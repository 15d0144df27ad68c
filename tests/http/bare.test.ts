import { composedSuite } from './stores/composed.ts';

composedSuite();
