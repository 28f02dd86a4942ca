// SPDX-License-Identifier: Apache-2.0
// The loops that are compared with the oracle.

import LoopScript

let makeOracleFace: FaceMaker = { CFFace() }

let makeOtherFace: FaceMaker = { GRunLoopFace() }

let makeServedFace: FaceMaker = { ServedCFFace() }

let makeLookingFace: FaceMaker = { LookingCFFace() }

let makeCInterfaceFace: FaceMaker = { CInterfaceFace() }
